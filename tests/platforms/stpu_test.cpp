#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Stpu, CountsOfTheReference) {
  EXPECT_EQ(counts("stpu", "resnet18"), (Counts{32, 21}));
  EXPECT_EQ(counts("stpu", "mobilenet_v2"), (Counts{65, 53}));
}

TEST(Stpu, PlansASmallGraph) {
  EXPECT_EQ(small_plan("stpu"),
            "x: int8 symmetric tensor narrow\n"
            "w1: int8 symmetric tensor narrow\n"
            "relu: int8 symmetric tensor narrow\n"
            "pool: int8 symmetric tensor narrow\n"
            "gate: int8 symmetric tensor narrow\n"
            "w2: int8 symmetric tensor narrow\n"
            "conv2: int8 symmetric tensor narrow\n"
            "sum: int8 symmetric tensor narrow\n"
            "flat: int8 symmetric tensor narrow\n"
            "w3: int8 symmetric tensor narrow\n"
            "fc: int8 symmetric tensor narrow\n");
}

TEST(Stpu, RefusesChannels) {
  QuantConfig config = settings_for("stpu");
  config.weight.granularity = Granularity::kChannel;
  EXPECT_REFUSES(config, "cannot run per-channel weights (per tensor only): weight 'w");
}

}  // namespace
}  // namespace quench

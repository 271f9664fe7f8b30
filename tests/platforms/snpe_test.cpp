#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Snpe, CountsOfTheReference) {
  EXPECT_EQ(counts("snpe", "resnet18"), (Counts{32, 21}));
  EXPECT_EQ(counts("snpe", "mobilenet_v2"), (Counts{65, 53}));
}

TEST(Snpe, PlansASmallGraph) {
  EXPECT_EQ(small_plan("snpe"),
            "x: uint8 affine tensor\n"
            "w1: uint8 affine tensor\n"
            "relu: uint8 affine tensor\n"
            "pool: uint8 affine tensor\n"
            "gate: uint8 affine tensor\n"
            "w2: uint8 affine tensor\n"
            "conv2: uint8 affine tensor\n"
            "sum: uint8 affine tensor\n"
            "flat: uint8 affine tensor\n"
            "w3: uint8 affine tensor\n"
            "fc: uint8 affine tensor\n");
}

TEST(Snpe, RefusesChannels) {
  QuantConfig config = settings_for("snpe");
  config.weight.granularity = Granularity::kChannel;
  EXPECT_REFUSES(config, "cannot run per-channel weights (per tensor only): weight 'w");
}

}  // namespace
}  // namespace quench

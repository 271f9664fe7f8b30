#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Qdq, CountsOfTheReference) {
  EXPECT_EQ(counts("qdq", "resnet18"), (Counts{31, 21}));
  EXPECT_EQ(counts("qdq", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Qdq, PlansASmallGraph) {
  EXPECT_EQ(small_plan("qdq"),
            "x: int8 symmetric tensor narrow\n"
            "w1: int8 symmetric channel:0 narrow\n"
            "relu: int8 symmetric tensor narrow\n"
            "pool: int8 symmetric tensor narrow\n"
            "gate: int8 symmetric tensor narrow\n"
            "w2: int8 symmetric channel:0 narrow\n"
            "conv2: int8 symmetric tensor narrow\n"
            "sum: int8 symmetric tensor narrow\n"
            "flat: int8 symmetric tensor narrow\n"
            "w3: int8 symmetric channel:0 narrow\n");
}

TEST(Qdq, RefusesAffineWeights) {
  QuantConfig config = settings_for("qdq");
  config.weight.symmetric = config.weight.narrow = false;
  EXPECT_REFUSES(config, "cannot run affine weights (symmetric only)");
}

}  // namespace
}  // namespace quench

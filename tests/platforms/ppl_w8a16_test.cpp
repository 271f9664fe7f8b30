#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(PplW8a16, CountsOfTheReference) {
  EXPECT_EQ(counts("ppl_w8a16", "resnet18"), (Counts{32, 21}));
  EXPECT_EQ(counts("ppl_w8a16", "mobilenet_v2"), (Counts{65, 53}));
}

TEST(PplW8a16, PlansASmallGraph) {
  EXPECT_EQ(small_plan("ppl_w8a16"),
            "x: uint16 affine tensor\n"
            "w1: uint8 affine tensor\n"
            "relu: uint16 affine tensor\n"
            "pool: uint16 affine tensor\n"
            "gate: uint16 affine tensor\n"
            "w2: uint8 affine tensor\n"
            "conv2: uint16 affine tensor\n"
            "sum: uint16 affine tensor\n"
            "flat: uint16 affine tensor\n"
            "w3: uint8 affine tensor\n"
            "fc: uint16 affine tensor\n");
}

TEST(PplW8a16, RefusesWideWeights) {
  QuantConfig config = settings_for("ppl_w8a16");
  config.weight.bits = 16;
  EXPECT_REFUSES(config, "cannot run 16-bit weights (8 bits only)");
}

}  // namespace
}  // namespace quench

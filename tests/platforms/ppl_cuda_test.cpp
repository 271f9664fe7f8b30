#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(PplCuda, CountsOfTheReference) {
  EXPECT_EQ(counts("ppl_cuda", "resnet18"), (Counts{32, 21}));
  EXPECT_EQ(counts("ppl_cuda", "mobilenet_v2"), (Counts{65, 53}));
}

TEST(PplCuda, PlansASmallGraph) {
  EXPECT_EQ(small_plan("ppl_cuda"),
            "x: uint8 affine tensor\n"
            "w1: uint8 affine channel:0\n"
            "relu: uint8 affine tensor\n"
            "pool: uint8 affine tensor\n"
            "gate: uint8 affine tensor\n"
            "w2: uint8 affine channel:0\n"
            "conv2: uint8 affine tensor\n"
            "sum: uint8 affine tensor\n"
            "flat: uint8 affine tensor\n"
            "w3: uint8 affine channel:0\n"
            "fc: uint8 affine tensor\n");
}

TEST(PplCuda, RefusesWideActivations) {
  QuantConfig config = settings_for("ppl_cuda");
  config.activation.bits = 16;
  EXPECT_REFUSES(config, "cannot run 16-bit activations (8 bits only)");
}

}  // namespace
}  // namespace quench

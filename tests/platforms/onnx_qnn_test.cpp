#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(OnnxQnn, CountsOfTheReference) {
  EXPECT_EQ(counts("onnx_qnn", "resnet18"), (Counts{31, 20}));
  EXPECT_EQ(counts("onnx_qnn", "mobilenet_v2"), (Counts{64, 52}));
}

TEST(OnnxQnn, PlansASmallGraph) {
  EXPECT_EQ(small_plan("onnx_qnn"),
            "x: uint8 affine tensor\n"
            "w1: uint8 affine tensor\n"
            "relu: uint8 affine tensor\n"
            "pool: uint8 affine tensor\n"
            "w2: uint8 affine tensor\n"
            "conv2: uint8 affine tensor\n"
            "mul: uint8 affine tensor\n"
            "sum: uint8 affine tensor\n"
            "gap: uint8 affine tensor\n");
}

TEST(OnnxQnn, RefusesChannels) {
  QuantConfig config = settings_for("onnx_qnn");
  config.weight.granularity = Granularity::kChannel;
  EXPECT_REFUSES(config, "cannot run per-channel weights (per tensor only): weight 'w");
}

TEST(OnnxQnn, LinearLayersStayFloat) {
  EXPECT_EQ(explain(make_plan(gated_graph(), settings_for("onnx_qnn")), "w3"),
            "'w3' stays float: ONNX has no quantized linear layer");
}

TEST(OnnxQnn, TakesNoAdditions) {
  QuantConfig config = settings_for("onnx_qnn");
  config.additional_ops = {"Sigmoid"};
  EXPECT_REFUSES(config, "it takes no additional operators or nodes");
}

}  // namespace
}  // namespace quench

#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(MmrazorTensorrt, CountsOfTheReference) {
  EXPECT_EQ(counts("mmrazor_tensorrt", "resnet18"), (Counts{29, 21}));
  EXPECT_EQ(counts("mmrazor_tensorrt", "mobilenet_v2"), (Counts{63, 53}));
}

TEST(MmrazorTensorrt, OnlyConvolutionsAndLinearLayers) {
  EXPECT_EQ(quantized_values(make_plan(small_graph(), config_for("mmrazor_tensorrt", true))), "x conv2 flat");
}

// Here the reference leaves the input of conv2 float: it removes the quantizer after the pool, and none is before.
TEST(MmrazorTensorrt, NoLayerLosesTheQuantizerOfItsInput) {
  const QuantPlan plan = make_plan(small_graph(), config_for("mmrazor_tensorrt"));
  EXPECT_EQ(quantized_values(plan), "x pool conv2 flat");
  EXPECT_EQ(plan.find("x")->scheme.text(), "int8 symmetric tensor");
}

TEST(MmrazorTensorrt, RefusesZeroPoints) {
  QuantConfig config = config_for("mmrazor_tensorrt");
  config.activation.symmetric = false;
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("cannot run affine activations (symmetric only)"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench

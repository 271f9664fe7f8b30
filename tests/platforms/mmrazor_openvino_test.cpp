#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(MmrazorOpenvino, CountsOfTheReference) {
  EXPECT_EQ(counts("mmrazor_openvino", "resnet18"), (Counts{31, 21}));
  EXPECT_EQ(counts("mmrazor_openvino", "mobilenet_v2"), (Counts{65, 53}));
}

TEST(MmrazorOpenvino, LeavesOutWhatIsRedundantAndSaysWhy) {
  const QuantPlan plan = make_plan(small_graph(), config_for("mmrazor_openvino", true));
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 relu mean=relu flat=relu");
  EXPECT_EQ(reason_of(plan, "conv1"), "redundant before Clip 'relu6'");
  EXPECT_EQ(reason_of(plan, "pool"), "redundant behind MaxPool 'pool', which keeps the range");
  EXPECT_EQ(reason_of(plan, "fc"), "redundant before the graph's output");
}

TEST(MmrazorOpenvino, WhatAPoolWritesInheritsItsRange) {
  const QuantPlan plan = make_plan(small_graph(), config_for("mmrazor_openvino"));
  EXPECT_EQ(quantized_values(plan), "x relu6 pool=relu6 conv2 relu mean=relu flat=relu");
}

// quint8 with "symmetric" is the shipped config: z = 0 where nothing is below zero, else affine (D10).
TEST(MmrazorOpenvino, UnsignedAndSymmetricCutsNothingOff) {
  QuantConfig config = config_for("mmrazor_openvino");
  config.activation.symmetric = true;
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(plan.find("relu")->scheme.text(), "uint8 symmetric tensor");
  EXPECT_EQ(plan.find("conv2")->scheme.text(), "uint8 affine tensor");
}

TEST(MmrazorOpenvino, AValueThatAnotherLayerReadsKeepsItsQuantizer) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 2, 2]
    const %w : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    %a = Conv "a" (%x, %w)
    %b = Conv "b" (%a, %w)
    output %a
    output %b
  })");
  infer_shapes(graph);
  EXPECT_EQ(quantized_values(make_plan(graph, config_for("mmrazor_openvino"))), "x a");
  EXPECT_EQ(quantized_values(make_plan(graph, config_for("mmrazor_openvino", true))), "x");  // as the reference
}

TEST(MmrazorOpenvino, RefusesMoreThanEightBits) {
  QuantConfig config = config_for("mmrazor_openvino");
  LayerRule rule;
  rule.match = "conv2";
  rule.weight.bits = 16;
  config.layers.push_back(rule);
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("cannot run 16-bit weights (1 to 8 bits only): weight 'conv2.weight' of node 'conv2' (Conv)"),
            std::string::npos)
      << message;
}

// What is multiplied or added to leaves the range of the operand: x in its own scale would be cut (4.2 dB, not 33.9).
TEST(MmrazorOpenvino, WhatAConstantScalesOrShiftsHasItsOwnRange) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 2, 2]
    const %w : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %ten : float[] = {10.0}
    %a = Conv "a" (%x, %w)
    %scaled = Mul "scaled" (%a, %ten)
    %shifted = Add "shifted" (%ten, %scaled)
    %b = Conv "b" (%shifted, %w)
    output %b
  })");
  infer_shapes(graph);
  for (const bool parity : {false, true}) {
    const QuantPlan plan = make_plan(graph, config_for("mmrazor_openvino", parity));
    for (const char* value : {"scaled", "shifted"}) {
      ASSERT_TRUE(plan.find(value)) << value;
      EXPECT_EQ(plan.find(value)->shared_with, "") << value;
    }
  }
}

}  // namespace
}  // namespace quench

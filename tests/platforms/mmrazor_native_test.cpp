#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(MmrazorNative, CountsOfTheReference) {
  EXPECT_EQ(counts("mmrazor_native", "resnet18"), (Counts{33, 21}));
  EXPECT_EQ(counts("mmrazor_native", "mobilenet_v2"), (Counts{101, 53}));
}

TEST(MmrazorNative, QuantizesInputsAndOutputsOfAllThatItKnows) {
  const QuantPlan plan = make_plan(small_graph(), config_for("mmrazor_native", true));
  EXPECT_EQ(quantized_values(plan), "x conv1 relu6=conv1 pool=conv1 conv2 relu mean=relu flat=relu fc");
  EXPECT_EQ(reason_of(plan, "sum"), "inside the fused layer 'sum'");
}

// Without parity the range of a Relu6 is its own: that of the convolution before it would waste codes.
TEST(MmrazorNative, LeavesOutWhatARelu6Cuts) {
  const QuantPlan plan = make_plan(small_graph(), config_for("mmrazor_native"));
  EXPECT_EQ(quantized_values(plan), "x relu6 pool=relu6 conv2 relu mean=relu flat=relu fc");
  EXPECT_EQ(reason_of(plan, "conv1"), "redundant before Clip 'relu6'");
}

TEST(MmrazorNative, ARangeThatIsKnownIsNotObserved) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 4]
    %a = Sigmoid "a" (%x)
    %b = Tanh "b" (%a)
    output %b
  })");
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, config_for("mmrazor_native"));
  EXPECT_EQ(plan.find("x")->observer, "mse");
  EXPECT_EQ(plan.find("a")->observer_options.number("scale"), 1.0 / 256);
  EXPECT_EQ(plan.find("b")->observer_options.number("scale"), 2.0 / 256);
  EXPECT_EQ(plan.find("b")->observer_options.number("zero_point"), 128);
  QuantConfig config = config_for("mmrazor_native");
  LayerRule rule;
  rule.match = "a";
  rule.output.observer = "min_max";
  config.layers.push_back(rule);
  EXPECT_EQ(make_plan(graph, config).find("a")->observer, "min_max") << "the user's wish";
  EXPECT_EQ(make_plan(graph, config).find("b")->observer, "fixed_qparams");
}

// mmrazor inserts nothing at all, silently (D28).
TEST(MmrazorNative, RefusesADtypeThatTheBackendDoesNotList) {
  QuantConfig config = config_for("mmrazor_native");
  config.activation.is_signed = true;
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("platform 'mmrazor_native' cannot run signed activations (unsigned only): activation '"),
            std::string::npos)
      << message;
}

TEST(MmrazorNative, TheUserNamesWhatElseIsRedundant) {
  QuantConfig config = config_for("mmrazor_native", true);
  config.platform_options = {{"no_quantizer_before", "Flatten, fc, Gelu"}, {"no_quantizer_after", "pool"}};
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(quantized_values(plan), "x conv1 relu6=conv1 conv2 relu fc");
  EXPECT_EQ(reason_of(plan, "pool"), "redundant behind MaxPool 'pool', which keeps the range");
  config.platform_options = {{"no_quantizer_after", "Flatten,Reshape"}};  // what one type of torch may be
  EXPECT_EQ(quantized_values(make_plan(small_graph(), config)),
            "x conv1 relu6=conv1 pool=conv1 conv2 relu mean=relu fc");
  config.platform_options.set("no_quantizer_after", "Fold");
  EXPECT_NE(message_of([&] { make_plan(small_graph(), config); }).find("there is no 'Fold'"), std::string::npos);
}

// Only what keeps the range can take over the scale of its input; a convolution has a range of its own.
TEST(MmrazorNative, BehindALayerThatChangesTheRangeNothingIsInherited) {
  QuantConfig config = config_for("mmrazor_native");
  config.platform_options = {{"no_quantizer_after", "conv2,pool"}};
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(quantized_values(plan), "x relu6 pool=relu6 relu mean=relu flat=relu fc");
  EXPECT_EQ(reason_of(plan, "conv2"), "redundant behind Conv 'conv2'");
}

TEST(MmrazorNative, AnObserverThatIsNamedLosesTheOptionsOfTheUsualOne) {
  QuantConfig config = config_for("mmrazor_native");
  config.activation.observer = "ema_min_max";
  config.activation.observer_options = {{"ema_ratio", 0.95}};
  const Options options = make_plan(small_graph(), config).find("x")->observer_options;
  EXPECT_FALSE(options.has("averaging_constant"));
  EXPECT_EQ(options.number("ema_ratio"), 0.95);
}

// What is multiplied or added to leaves the range of the operand: x in its own scale would be cut (4.2 dB, not 33.9).
TEST(MmrazorNative, WhatAConstantScalesOrShiftsHasItsOwnRange) {
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
    const QuantPlan plan = make_plan(graph, config_for("mmrazor_native", parity));
    for (const char* value : {"scaled", "shifted"}) {
      ASSERT_TRUE(plan.find(value)) << value;
      EXPECT_EQ(plan.find(value)->shared_with, "") << value;
    }
  }
}

}  // namespace
}  // namespace quench

#include <gtest/gtest.h>

#include "platforms/small_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Fbgemm, CountsOfTheReference) {
  EXPECT_EQ(counts("fbgemm", "resnet18"), (Counts{30, 21}));
  EXPECT_EQ(counts("fbgemm", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Fbgemm, QuantizesOutputsOfTheModulesThatTorchKnows) {
  const QuantPlan plan = make_plan(small_graph(), config_for("fbgemm", true));
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 relu fc");
  EXPECT_EQ(plan.find("x")->scheme.qmax(), 127);  // reduce_range
  EXPECT_EQ(plan.find("x")->scheme.qmin(), 0);
  EXPECT_EQ(plan.find("x")->observer, "histogram");
  EXPECT_EQ(plan.find("conv1.weight")->scheme.text(), "int8 symmetric channel:0");
  EXPECT_EQ(reason_of(plan, "pool"), "MaxPool 'pool' keeps the scale of its input");
}

// torch's quantized average pool rounds to the scale of its input; eager mode's float simulation does not.
TEST(Fbgemm, AnAverageIsRoundedToTheScaleOfItsInput) {
  EXPECT_EQ(quantized_values(make_plan(small_graph(), config_for("fbgemm"))), "x relu6 conv2 relu mean=relu fc");
}

TEST(Fbgemm, AFloatIslandEndsWhereTheNextLayerReads) {
  QuantConfig config = config_for("fbgemm");
  LayerRule rule;
  rule.match = "sum";
  rule.keep_float = true;
  config.layers.push_back(rule);
  const QuantPlan plan = make_plan(small_graph(), config);
  EXPECT_EQ(quantized_values(plan), "x relu6 conv2 flat fc");
  EXPECT_EQ(plan.find("flat")->rule, "float input of Gemm 'fc'");
  EXPECT_EQ(reason_of(plan, "relu"), "'sum' is kept in float by the user");
}

TEST(Fbgemm, AKnownRangeHasTheLevelsOfTheScheme) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 4]
    %a = Sigmoid "a" (%x)
    %b = Tanh "b" (%a)
    output %b
  })");
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, config_for("fbgemm"));
  EXPECT_EQ(plan.find("a")->observer, "fixed_qparams");
  EXPECT_EQ(plan.find("a")->observer_options.number("scale"), 1.0 / 128);
  EXPECT_EQ(plan.find("b")->observer_options.number("scale"), 2.0 / 128);
  EXPECT_EQ(plan.find("b")->observer_options.number("zero_point"), 64);
}

TEST(Fbgemm, RefusesATransposedConvolutionPerChannel) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 2, 2]
    const %up.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    %up = ConvTranspose "up" (%x, %up.weight)
    output %up
  })");
  infer_shapes(graph);
  QuantConfig config = config_for("fbgemm");
  const std::string message = message_of([&] { make_plan(graph, config); });
  EXPECT_NE(message.find("cannot run a ConvTranspose with weights per channel: weight 'up.weight' of node 'up'"),
            std::string::npos)
      << message;
  config.weight.granularity = Granularity::kTensor;
  EXPECT_EQ(quantized_values(make_plan(graph, config)), "x up");
}

TEST(Fbgemm, RefusesSignedActivations) {
  QuantConfig config = config_for("fbgemm");
  config.activation.is_signed = true;
  const std::string message = message_of([&] { make_plan(small_graph(), config); });
  EXPECT_NE(message.find("signed activations (unsigned only)"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench

#include "passes/graphs.h"
#include "quench/fake_quant.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// x -> quantizer -> Conv -> quantizer -> Conv
Graph two_convs(const std::string& algorithm) {
  at::manual_seed(4);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 3, 8, 8}));
  Value &w = graph.add_constant("w", at::randn({4, 3, 3, 3})), &v = graph.add_constant("v", at::randn({4, 4, 3, 3}));
  Value& between = graph.add("Conv", "first", {&x, &w}).output();
  graph.add_output(graph.add("Conv", "second", {&between, &v}).output());
  infer_shapes(graph);
  const FakeQuantSpec spec{
      algorithm, QScheme::parse("int8 symmetric tensor"), Role::kActivation, QuantizeBy::kReciprocal, {}};
  for (Value* value : {&x, &between}) insert_fake_quant(graph, *value, spec, {.quantize = true});
  return graph;
}

TEST(SkipInputGradients, ChangesTheLayerBehindAnInputOfTheModel) {
  Graph graph = two_convs("lsq");
  EXPECT_EQ(run_pass(graph, "skip_input_gradients", at::randn({1, 3, 8, 8})), 1);
  const Node& first = *graph.find_node("first");
  EXPECT_EQ(first.op(), "quench.ConvOfInput");
  EXPECT_EQ(first.input(1), &graph.value("w"));
  EXPECT_EQ(first.input(2), nullptr) << "it has no bias";
  EXPECT_EQ(first.input(3), &graph.value("x"));
  EXPECT_EQ(first.input(4), &graph.value("x.fq.scale"));
  EXPECT_EQ(graph.find_node("second")->op(), "Conv") << "an activation needs its gradient";
}

TEST(SkipInputGradients, LeavesWhatLearnsNoScaleOrIsSharedAlone) {
  Graph fixed = two_convs("fixed"), shared = two_convs("lsq");
  EXPECT_EQ(run_passes(fixed, {"skip_input_gradients"})[0].changes, 0);
  shared.add_output(shared.add("Relu", "other", {&shared.value("x.fq")}).output());
  EXPECT_EQ(run_passes(shared, {"skip_input_gradients"})[0].changes, 0);
}

// Fused with a Relu the quantizer reads the input itself, but its slopes are those behind the Relu.
TEST(SkipInputGradients, LeavesAQuantizerThatBeginsWithAReluAlone) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 3, 8, 8}));
  Value& relu = graph.add("Relu", "relu", {&x}).output();
  graph.add_output(graph.add("Conv", "conv", {&relu, &graph.add_constant("w", at::randn({4, 3, 3, 3}))}).output());
  infer_shapes(graph);
  const FakeQuantSpec spec{
      "lsq", QScheme::parse("int8 symmetric tensor"), Role::kActivation, QuantizeBy::kReciprocal, {}};
  insert_fake_quant(graph, relu, spec, {.quantize = true});
  const auto runs = run_passes(graph, {"fuse_relu_quantizers", "skip_input_gradients"});
  EXPECT_EQ(runs[0].changes, 1);
  EXPECT_EQ(runs[1].changes, 0);
}

}  // namespace
}  // namespace quench

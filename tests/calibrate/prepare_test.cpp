#include "quench/prepare.h"

#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/platform.h"
#include "support/describe.h"

namespace quench {
namespace {

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.nodes()) ops.push_back(node->op());
  return ops;
}
using Ops = std::vector<std::string>;

// x -> Conv -> BatchNormalization -> Relu
Graph conv_and_norm() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8, 8}));
  Value& w = graph.add_constant("w", whole({4, 3, 3, 3}, 1, 3));
  w.set_parameter(true);
  std::vector<Value*> inputs = {&graph.add("Conv", "conv", {&x, &w}).output()};
  for (const char* name : {"gamma", "beta", "mean", "var"})
    inputs.push_back(&graph.add_constant(name, at::full({4}, 0.75)));
  Node& bn = graph.add("BatchNormalization", "bn", inputs);
  graph.add_output(graph.add("Relu", "y", {&bn.output()}).output());
  return graph;
}

QuantizedModel prepared(const Graph& graph, NormMode norm, const std::string& platform = "tensorrt") {
  PrepareOptions options;
  options.norm = norm;
  return prepare_by_platform(graph, platform, {}, options);
}

TEST(Prepare, FoldsLivesOrFreezes) {
  const Graph graph = conv_and_norm();
  EXPECT_EQ(ops_of(prepared(graph, NormMode::kFold).graph),
            (Ops{"quench.FakeQuant", "quench.FakeQuant", "Conv", "Relu"}));
  EXPECT_EQ(ops_of(prepared(graph, NormMode::kFrozen).graph),
            (Ops{"quench.NormWeight", "quench.FakeQuant", "quench.FakeQuant", "Conv", "Relu"}));
  const Graph live = prepared(graph, NormMode::kLive).graph;
  EXPECT_EQ(ops_of(live), (Ops{"quench.NormWeight", "quench.FakeQuant", "quench.FakeQuant", "Conv", "Div",
                               "BatchNormalization", "Relu"}));
  EXPECT_TRUE(live.value("w").is_parameter()) << "it trains";
}

// The folded bias is there to be quantized although the layer has none yet.
TEST(Prepare, PlansTheBiasThatFoldingWillMake) {
  const QuantizedModel live = prepared(conv_and_norm(), NormMode::kLive, "onnxruntime");
  EXPECT_EQ(live.plan.entries.size(), prepared(conv_and_norm(), NormMode::kFold, "onnxruntime").plan.entries.size());
  const Node* conv = live.graph.find_node("conv");
  ASSERT_TRUE(conv->input(2) && conv->input(2)->producer());
  EXPECT_EQ(conv->input(2)->producer()->op(), "quench.QuantizeBias");
}

// All that is observed without data is: the weight as NormWeight gives it.
TEST(Prepare, CalibratesWithLiveNorms) {
  for (const NormMode norm : {NormMode::kFold, NormMode::kLive, NormMode::kFrozen}) {
    QuantizedModel model = prepared(conv_and_norm(), norm, "onnxruntime");
    calibrate(model, TensorData(whole({4, 3, 8, 8}, 5, 3)));
    verify(model, ModelStage::kCalibrated);
    const Graph& graph = model.graph;
    // max |w| * gamma / sqrt(var + eps) over 127.5 steps, which three modes round in three ways.
    const double wanted = 3 * 0.75 / std::sqrt(0.75 + 1e-5);
    const QScheme scheme = fake_quant_spec(*graph.find_node("w.fq")).scheme;
    const QParams expected = qparams_of_range(scheme, std::vector<float>(4, static_cast<float>(-wanted)),
                                              std::vector<float>(4, static_cast<float>(wanted)));
    for (std::size_t i = 0; i < expected.scale.size(); ++i)
      EXPECT_NEAR(params_of(graph, "w").scale.at(i), expected.scale[i], 1e-6 * expected.scale[i]);
  }
}

// A Linear whose weight is stored the other way round.
Graph turned_weight(bool trains) {
  return parse_graph(concat(R"(graph "g" {
    input %x : float[N, 2]
    )",
                            trains ? "param" : "const", R"( %w : float[3, 2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    const %b : float[3] = {0.5, 0.25, 1.0}
    %t = Transpose "t" (%w) {perm = ints[1, 0]}
    %p = MatMul "p" (%x, %t)
    %y = Add "y" (%p, %b)
    output %y
  })"));
}

TEST(Prepare, FoldsWhatAWeightIsComputedFrom) {
  for (const NormMode norm : {NormMode::kFold, NormMode::kLive}) {
    const QuantizedModel result = prepared(turned_weight(false), norm);
    EXPECT_EQ(ops_of(result.graph), (Ops{"quench.FakeQuant", "quench.FakeQuant", "Gemm"}));
    EXPECT_EQ(result.plan.find("t")->scheme.text(), "int8 symmetric channel:1 narrow");
  }
}

TEST(Prepare, QuantizesWhatComesOfAWeightThatTrains) {
  const QuantizedModel result = prepared(turned_weight(true), NormMode::kLive);
  EXPECT_EQ(result.graph.find_node("t.fq")->input(0)->producer()->op(), "Transpose");
  EXPECT_TRUE(result.graph.value("w").is_parameter());
  EXPECT_EQ(result.graph.find_node("p")->op(), "Gemm");
  EXPECT_EQ(result.graph.find_node("p")->input(1)->producer()->name(), "t.fq");
}

Graph came_quantized() {
  return parse_graph(R"(graph "g" {
    input %x : float[N, 2]
    const %s : float[] = {0.25}
    const %z : uint8[] = {7}
    const %w_q : int8[3, 2] = {1, 2, 3, -4, 5, 127}
    const %w_s : float[3] = {0.5, 0.25, 0.125}
    %q = QuantizeLinear "q" (%x, %s, %z)
    %d = DequantizeLinear "d" (%q, %s, %z)
    %w = DequantizeLinear "dw" (%w_q, %w_s) {axis = 0}
    %y = Gemm "y" (%d, %w) {transB = 1}
    output %y
  })");
}

TEST(Prepare, KeepsTheQuantizersThatAModelCameWith) {
  QuantizedModel result = prepared(came_quantized(), NormMode::kFold);
  EXPECT_EQ(result.plan.count(Role::kWeight), 1);
  EXPECT_EQ(result.plan.count(Role::kActivation), 1);
  EXPECT_EQ(result.plan.find("x")->rule, "the model came with it");
  verify(result, ModelStage::kCalibrated);
  calibrate(result, TensorData(whole({4, 2}, 1, 9)));
  EXPECT_EQ(params_of(result.graph, "x"), (QParams{{0.25F}, {7}}));
  EXPECT_EQ(params_of(result.graph, "w"), (QParams{{0.5F, 0.25F, 0.125F}, {0, 0, 0}}));
}

TEST(Prepare, LaysNoPlanOverAModelThatCameQuantized) {
  PrepareOptions options;
  options.plan = QuantPlan();
  EXPECT_EQ(
      message_of([&] { prepare_by_platform(came_quantized(), "tensorrt", {}, options); }),
      "the model is already quantized (node 'q' (QuantizeLinear)): a plan cannot be applied on top of its quantizers");
  QuantConfig config;
  config.platform = "tensorrt";
  Graph graph = came_quantized();
  EXPECT_NE(message_of([&] { fuse_for_quantizing(graph, config, NormMode::kFold); }).find("nothing to plan"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

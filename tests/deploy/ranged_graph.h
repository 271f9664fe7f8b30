// Networks whose quantizers have given numbers, so that what a file must say about them can be worked out by hand.
#pragma once

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "deploy/deployed.h"
#include "quantized/given_quantizers.h"
#include "quench/fake_quant.h"
#include "quench/pass.h"
#include "support/describe.h"

namespace quench {

struct Numbers {
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;
};

// A calibrated quantizer after a value.
inline void quantize(Graph& graph, const std::string& value, const std::string& scheme, const Numbers& numbers,
                     const std::string& algorithm = "") {
  FakeQuantSpec spec;
  spec.scheme = QScheme::parse(scheme);
  if (spec.scheme.format() == Format::kLog) spec.algorithm = "nnie";
  if (!algorithm.empty()) spec.algorithm = algorithm;
  if (graph.value(value).is_constant()) spec.role = value[0] == 'b' ? Role::kBias : Role::kWeight;
  Node& node = insert_fake_quant(graph, graph.value(value), spec, {.quantize = true});
  set_qparams(node, {numbers.scale, numbers.zero_point});
}

// A graph whose quantizers have their scales, as a model of the platform.
inline QuantizedModel calibrated(Graph graph, const std::string& platform = "") {
  run_passes(graph, {"infer_shapes"});
  QuantPlan plan;
  plan.platform = platform;
  plan = plan_of_quantizers(graph, plan);
  return {std::move(graph), std::move(plan), ModelStage::kCalibrated};
}

// As `quench quantize` would have left it in a file.
inline Graph planned(Graph graph, const std::string& platform) {
  return with_plan_text(calibrated(std::move(graph), platform));
}

// x -> conv (w, bias b) -> relu -> pool -> flat -> fc (v) -> y
inline Graph plain_net() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 7, 7}));
  Value& w = graph.add_constant("w", whole({2, 3, 1, 1}, 1, 3));
  Value& b = graph.add_constant("b", at::tensor({1.0F, -3.0F}));
  Value& v = graph.add_constant("v", whole({2, 2}, 2, 3));
  Value& conv = graph.add("Conv", "conv", {&x, &w, &b}).output();
  Value& relu = graph.add("Relu", "relu", {&conv}).output();
  Value& pool = graph.add("GlobalAveragePool", "pool", {&relu}).output();
  Value& flat = graph.add("Flatten", "flat", {&pool}).output();
  Node& fc = graph.add("Gemm", "fc", {&flat, &v}, std::vector<std::string>{"y"});
  fc.attrs["transB"] = std::int64_t{1};
  graph.add_output(fc.output());
  run_passes(graph, {"infer_shapes"});
  return graph;
}

// plain_net() with quantizers on x, w, relu, flat, v and y; pool has none. Affine schemes get the zero points too.
inline Graph ranged_net(const std::string& activation, const std::string& weight) {
  Graph graph = plain_net();
  const auto numbers = [&](float scale, int zero, const std::string& scheme) -> Numbers {
    return {{scale}, {QScheme::parse(scheme).symmetric() ? 0 : zero}};
  };
  quantize(graph, "x", activation, numbers(0.5F, 100, activation));
  quantize(graph, "w", weight, numbers(0.25F, 20, weight));
  quantize(graph, "relu", activation, numbers(1.0F, 0, activation));
  quantize(graph, "flat", activation, numbers(0.125F, 0, activation));
  quantize(graph, "v", weight, numbers(0.0625F, 128, weight));
  quantize(graph, "y", activation, numbers(2.0F, 200, activation));
  return graph;
}

inline nlohmann::json json_of(const Deployment& deployment, const std::string& name) {
  return nlohmann::json::parse(file_of(deployment, name).text);
}

// What the model of a deployment, read back from its bytes, gives for x; exact for whole numbers.
inline at::Tensor run_file(const Deployment& deployment, const std::string& name, const at::Tensor& x) {
  const Graph graph = read_back(file_of(deployment, name));
  return Executor(graph).run({RtValue(x)})[0].tensor();
}

// Weights that lie on their grids, no quantizers left, the inputs and outputs of the float model.
inline void expect_stripped(const Deployment& deployment, const std::string& name) {
  const Graph model = read_back(file_of(deployment, name));
  for (const auto& node : model.nodes()) EXPECT_NE(node->op(), "quench.FakeQuant") << node->name();
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(model.inputs()[0]->name(), "x");
  ASSERT_EQ(model.outputs().size(), 1U);
  EXPECT_EQ(model.outputs()[0]->name(), "y");
}

inline std::string refusal_of(const Graph& graph, Options options = {}) {
  return message_of([&] { deployed(graph, "", std::move(options)); });
}

}  // namespace quench

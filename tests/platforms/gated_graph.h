// One small network with a bit of everything, and plans as text.
#pragma once

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform.h"

namespace quench {

// x -> conv1 -> relu -> pool -> conv2 -> mul -> sum -> gap -> flat -> fc
//                         |-> gate (Sigmoid) ----^      ^
//                         '-----------------------------'
inline Graph gated_graph() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 4, 8, 8}));
  Value& w1 = graph.add_constant("w1", at::ones({4, 4, 1, 1}));
  Value& b1 = graph.add_constant("b1", at::ones({4}));
  Value& w2 = graph.add_constant("w2", at::ones({4, 4, 1, 1}));
  Value& w3 = graph.add_constant("w3", at::ones({2, 4}));
  Value& relu = graph.add("Relu", "relu", {&graph.add("Conv", "conv1", {&x, &w1, &b1}).output()}).output();
  Node& pool = graph.add("MaxPool", "pool", {&relu});
  pool.attrs["kernel_shape"] = std::vector<std::int64_t>{2, 2};
  Value& gate = graph.add("Sigmoid", "gate", {&pool.output()}).output();
  Value& conv2 = graph.add("Conv", "conv2", {&pool.output(), &w2}).output();
  Value& mul = graph.add("Mul", "mul", {&conv2, &gate}).output();
  Value& sum = graph.add("Add", "sum", {&mul, &pool.output()}).output();
  Value& gap = graph.add("GlobalAveragePool", "gap", {&sum}).output();
  Node& fc = graph.add("Gemm", "fc", {&graph.add("Flatten", "flat", {&gap}).output(), &w3});
  fc.attrs["transB"] = std::int64_t{1};
  graph.add_output(fc.output());
  infer_shapes(graph);
  graph.verify();
  return graph;
}

// Sets what platforms without defaults require.
inline QuantConfig settings_for(const std::string& platform, int bits = 8) {
  QuantConfig config;
  config.platform = platform;
  if (!find_platform(platform).user_schemes) return config;
  for (QuantSettings* settings : {&config.weight, &config.activation}) {
    settings->bits = bits;
    settings->observer = "min_max";
    settings->fake_quant = "fixed";
  }
  return config;
}

// One line per quantizer, in order of the graph.
inline std::string text_of(const QuantPlan& plan) {
  std::string text;
  for (const PlanEntry& entry : plan.entries) {
    text += entry.value + ": " + (entry.derived_from.empty() ? entry.scheme.text() : "int32");
    if (!entry.shared_with.empty()) text += " with " + entry.shared_with;
    text += "\n";
  }
  return text;
}

inline std::string small_plan(const QuantConfig& config) { return text_of(make_plan(gated_graph(), config)); }
inline std::string small_plan(const std::string& platform) { return small_plan(settings_for(platform)); }

// The message that the small network is refused with.
inline std::string refusal(const QuantConfig& config) {
  try {
    make_plan(gated_graph(), config);
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace quench

#define EXPECT_REFUSES(config, part) EXPECT_NE(refusal(config).find(part), std::string::npos) << refusal(config)

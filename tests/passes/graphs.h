// Small graphs and what the tests of passes ask of them.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {

using Ops = std::vector<std::string>;

inline Ops ops_of(const Graph& graph) {
  Ops ops;
  for (const auto& node : graph.nodes()) ops.push_back(node->op());
  return ops;
}

inline at::Tensor run(const Graph& graph, const at::Tensor& x) { return Executor(graph).run({RtValue(x)})[0].tensor(); }

// Runs one pass twice; checks that the second run changes nothing and the outputs are close to before.
inline int run_pass(Graph& graph, const std::string& name, const at::Tensor& x, double tolerance = 0.0) {
  const at::Tensor before = run(graph, x);
  infer_shapes(graph);
  const int changes = run_passes(graph, {name})[0].changes;
  EXPECT_EQ(run_passes(graph, {name})[0].changes, 0) << name << " is not idempotent";
  const at::Tensor after = run(graph, x);
  EXPECT_TRUE(at::allclose(after, before, tolerance, tolerance)) << (after - before).abs().max();
  return changes;
}

// layer -> BatchNormalization -> Relu, with random tensors.
inline Graph with_batch_norm(const std::string& op, const at::Tensor& weight, std::int64_t channels,
                             std::int64_t group = 1, bool bias = true) {
  at::manual_seed(1);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat));
  std::vector<Value*> inputs = {&x, &graph.add_constant("w", weight)};
  if (bias) inputs.push_back(&graph.add_constant("b", at::randn({channels})));
  Node& layer = graph.add(op, "layer", inputs);
  if (op == "Gemm")
    layer.attrs["transB"] = std::int64_t{1};
  else
    layer.attrs["group"] = group;
  Node& bn =
      graph.add("BatchNormalization", "bn",
                {&layer.output(), &graph.add_constant("g", at::rand({channels}) + 0.5),
                 &graph.add_constant("beta", at::randn({channels})), &graph.add_constant("m", at::randn({channels})),
                 &graph.add_constant("v", at::rand({channels}) + 0.1)});
  graph.add_output(graph.add("Relu", "y", {&bn.output()}).output());
  return graph;
}

// Each output is a sum of at most 72 products; refolding reorders nothing but rounds each weight and the
// bias once more: a few units in the last place of values up to about 100.
constexpr double kFoldTolerance = 1e-5;

}  // namespace quench

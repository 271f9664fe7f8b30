// A model with three inputs, and data for it.
#pragma once

#include <ATen/ATen.h>

#include "quench/executor.h"
#include "quench/graph.h"
#include "quench/pass.h"

namespace quench {

// logits[N, 4] = (x * mask) W + size: x and mask are [N, 6], size is [2] and the same for all items: its sum is added.
inline Graph three_inputs(Dim batch = Dim::symbol("N")) {
  Graph graph;
  graph.name = "three";
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {batch, 6}));
  Value& mask = graph.add_input("mask", TypeInfo::tensor(DType::kInt64, {batch, 6}));
  Value& size = graph.add_input("size", TypeInfo::tensor(DType::kFloat, {2}));
  Node& number = graph.add("Cast", "number", {&mask});
  number.attrs["to"] = std::int64_t{1};  // float
  Value& masked = graph.add("Mul", "masked", {&x, &number.output()}).output();
  Value& weight = graph.add_constant("w", (at::arange(24, at::kFloat).reshape({6, 4}) - 11.0F) / 8.0F);
  Value& product = graph.add("MatMul", "product", {&masked, &weight}).output();
  Value& zero = graph.add_constant("axis", at::tensor({std::int64_t{0}}));
  Value& sum = graph.add("ReduceSum", "sum", {&size, &zero}).output();
  graph.add_output(graph.add("Add", "logits", {&product, &sum}).output());
  run_passes(graph, {"infer_shapes"});
  return graph;
}

// By name, the items along the first axis of x and mask.
inline NamedValues three_arrays(std::int64_t items) {
  const at::Tensor x = (at::arange(items * 6, at::kLong) * 7919 % 41 - 20).to(at::kFloat).reshape({items, 6}) / 16.0F;
  const at::Tensor mask = (at::arange(items * 6, at::kLong) % 5 > 0).to(at::kLong).reshape({items, 6});
  return {{"x", x}, {"mask", mask}, {"size", at::tensor({0.5F, 0.25F})}};
}

// A cell: h_out = tanh(x U + h_in V), [N, 3]; y = h_out W, [N, 4].
inline Graph recurrent(Dim batch = Dim::symbol("N")) {
  Graph graph;
  graph.name = "recurrent";
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {batch, 2}));
  Value& h = graph.add_input("h_in", TypeInfo::tensor(DType::kFloat, {batch, 3}));
  const auto weight = [&](const char* name, at::IntArrayRef sizes) -> Value* {
    const std::int64_t count = sizes[0] * sizes[1];
    return &graph.add_constant(name, (at::arange(count, at::kFloat).reshape(sizes) - 3.0F) / 4.0F);
  };
  Value& in = graph.add("MatMul", "in", {&x, weight("u", {2, 3})}).output();
  Value& back = graph.add("MatMul", "back", {&h, weight("v", {3, 3})}).output();
  Value& state = graph.add("Tanh", "h_out", {&graph.add("Add", "both", {&in, &back}).output()}).output();
  graph.add_output(graph.add("MatMul", "y", {&state, weight("w", {3, 4})}).output());
  graph.add_output(state);
  run_passes(graph, {"infer_shapes"});
  return graph;
}

}  // namespace quench

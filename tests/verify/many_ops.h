// A network with one of each: layers with integer kernels, layers that move codes, and layers that stay in float.
#pragma once

#include <ATen/ATen.h>

#include "calibrate/small_graph.h"
#include "quench/graph.h"
#include "quench/op.h"

namespace quench {

inline Value& conv_of(Graph& graph, const std::string& name, Value& x, at::IntArrayRef weight, std::int64_t pad) {
  Value& w = graph.add_constant(name + ".weight", at::randn(weight) * 0.2);
  Value& b = graph.add_constant(name + ".bias", at::randn({weight[0]}) * 0.1);
  Node& conv = graph.add("Conv", name, {&x, &w, &b});
  conv.attrs["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
  return conv.output();
}

inline Graph many_ops() {
  at::manual_seed(3);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 8, 12, 12}));
  Value& a = conv_of(graph, "first", x, {8, 8, 3, 3}, 1);
  Value& gate = graph.add("Sigmoid", "gate", {&a}).output();
  Value& gated = graph.add("Mul", "gated", {&a, &gate}).output();
  Node& joined = graph.add("Concat", "joined", {&a, &gated});
  joined.attrs["axis"] = std::int64_t{1};
  Node& pooled = graph.add("AveragePool", "pooled", {&joined.output()});
  pooled.attrs["kernel_shape"] = std::vector<std::int64_t>{2, 2};
  pooled.attrs["strides"] = std::vector<std::int64_t>{2, 2};
  Value& scales = graph.add_constant("scales", at::tensor({1.0F, 1.0F, 2.0F, 2.0F}));
  Node& wide = graph.add("Resize", "wide", {&pooled.output(), nullptr, &scales});
  wide.attrs["mode"] = std::string("nearest");
  wide.attrs["coordinate_transformation_mode"] = std::string("asymmetric");
  wide.attrs["nearest_mode"] = std::string("floor");
  Value& last = conv_of(graph, "last", wide.output(), {8, 16, 1, 1}, 0);
  Value& rectified = graph.add("Relu", "rectified", {&last}).output();
  Node& largest = graph.add("MaxPool", "largest", {&rectified});
  largest.attrs["kernel_shape"] = std::vector<std::int64_t>{3, 3};
  Value& mean = graph.add("GlobalAveragePool", "mean", {&largest.output()}).output();
  Value& flat = graph.add("Flatten", "flat", {&mean}).output();
  Value& matrix = graph.add_constant("matrix", at::randn({8, 10}));
  Value& product = graph.add("MatMul", "product", {&flat, &matrix}).output();
  graph.add_output(graph.add("Softmax", "chances", {&product}).output());
  infer_shapes(graph);
  return graph;
}

}  // namespace quench

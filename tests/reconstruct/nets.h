// Small networks with random weights, and random data for them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <string>
#include <vector>

#include "quench/calibrate.h"
#include "quench/op.h"
#include "quench/prepare.h"
#include "quench/reconstruct.h"

namespace quench {

// Layers this small are not worth waking a second thread for.
inline const bool kOneThread = (at::set_num_threads(1), true);

inline Value& conv(Graph& graph, const std::string& name, Value& x, std::int64_t in, std::int64_t out) {
  Value& weight = graph.add_constant(name + ".weight", at::randn({out, in, 3, 3}) / (3 * std::sqrt(double(in))));
  Value& bias = graph.add_constant(name + ".bias", at::randn({out}) / 8);
  Node& node = graph.add("Conv", name, {&x, &weight, &bias});
  node.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  return node.output();
}

inline Value& relu(Graph& graph, const std::string& name, Value& x) { return graph.add("Relu", name, {&x}).output(); }

// stem, two residual blocks, a head.
inline Graph residual_net(Dim batch = Dim::symbol("N")) {
  at::manual_seed(3);
  Graph graph;
  Value* x = &graph.add_input("x", TypeInfo::tensor(DType::kFloat, {batch, 3, 8, 8}));
  x = &relu(graph, "stem.relu", conv(graph, "stem.conv", *x, 3, 8));
  for (const std::string block : {"block0", "block1"}) {
    Value& inner = relu(graph, block + ".relu1", conv(graph, block + ".conv1", *x, 8, 8));
    Value& outer = conv(graph, block + ".conv2", inner, 8, 8);
    x = &relu(graph, block + ".relu2", graph.add("Add", block + ".add", {&outer, x}).output());
  }
  Value& pooled = graph.add("GlobalAveragePool", "pool", {x}).output();
  Value& flat = graph.add("Flatten", "flatten", {&pooled}).output();
  Value& weight = graph.add_constant("head.weight", at::randn({10, 8}));
  Node& head = graph.add("Gemm", "head", {&flat, &weight});
  head.attrs["transB"] = std::int64_t{1};
  graph.add_output(head.output());
  infer_shapes(graph);
  graph.verify();
  return graph;
}

inline std::unique_ptr<Dataset> random_images(int count) {
  at::manual_seed(5);
  std::vector<at::Tensor> items;
  for (int i = 0; i < count; ++i) items.push_back(at::randn({3, 8, 8}));
  return dataset_of(std::move(items));
}

inline QuantConfig few_bits(int bits) {
  QuantConfig config;
  for (QuantSettings* one : {&config.weight, &config.activation}) {
    one->bits = bits;
    one->symmetric = one->is_signed = false;
    one->observer = "mse";
    one->fake_quant = "fixed";
  }
  config.weight.granularity = Granularity::kChannel;
  return config;
}

inline QuantizedModel calibrated_net(const Dataset& data, int bits = 3, const std::string& platform = "academic") {
  QuantizedModel model = prepare_by_platform(residual_net(), platform, bits > 0 ? few_bits(bits) : QuantConfig{});
  calibrate(model, data);
  return model;
}

}  // namespace quench

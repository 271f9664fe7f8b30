// A network and images on which the order of the images shows, if it matters.
#pragma once

#include <ATen/ATen.h>

#include "quench/graph.h"
#include "quench/pass.h"

namespace quench {

// Convolutions of three kinds, a residual sum, pools and a linear layer, with weights that round.
inline Graph mixed_network(std::int64_t batch = -1) {
  at::manual_seed(31);
  Graph graph;
  const Dim first = batch > 0 ? Dim(batch) : Dim::symbol("N");
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {first, Dim(3), Dim(17), Dim(17)}));
  const auto conv = [&](const std::string& name, Value& from, at::IntArrayRef sizes, std::int64_t group) -> Value& {
    Value& weight = graph.add_constant(name + ".weight", at::randn(sizes) * 0.3);
    Value& bias = graph.add_constant(name + ".bias", at::randn({sizes[0]}) * 0.1);
    Node& node = graph.add("Conv", name, {&from, &weight, &bias});
    const std::int64_t pad = sizes[2] / 2;
    node.attrs["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
    node.attrs["group"] = group;
    return node.output();
  };
  Value& relu1 = graph.add("Relu", "relu1", {&conv("conv1", x, {24, 3, 3, 3}, 1)}).output();
  Value& relu2 = graph.add("Relu", "relu2", {&conv("conv2", relu1, {24, 1, 3, 3}, 24)}).output();
  Value& conv3 = conv("conv3", relu2, {24, 24, 1, 1}, 1);
  Value& relu3 = graph.add("Relu", "relu3", {&graph.add("Add", "add", {&conv3, &relu1}).output()}).output();
  Value& pool = graph.add("GlobalAveragePool", "pool", {&relu3}).output();
  Value& weight = graph.add_constant("fc.weight", at::randn({10, 24}));
  Value& bias = graph.add_constant("fc.bias", at::randn({10}));
  Node& fc = graph.add("Gemm", "fc", {&graph.add("Flatten", "flat", {&pool}).output(), &weight, &bias});
  fc.attrs["transB"] = std::int64_t{1};
  graph.add_output(fc.output());
  run_passes(graph, {"infer_shapes"});
  return graph;
}

// Images whose sizes differ, so that ranges grow on the way.
inline const at::Tensor& varied_images() {
  static const at::Tensor all = [] {
    at::manual_seed(32);
    return at::randn({37, 3, 17, 17}) * at::pow(2, at::randn({37, 1, 1, 1}));
  }();
  return all;
}

}  // namespace quench

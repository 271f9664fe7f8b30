// Small models and data sets as files, for running the program on.
#pragma once

#include <ATen/ATen.h>

#include <fstream>
#include <string>

#include "quench/export.h"
#include "quench/graph.h"

namespace quench {

// x[N, 3, 32, 32] -> Conv -> Relu -> GlobalAveragePool -> Flatten -> logits[N, 10]. Class k looks at the mean of
// the red channel: the logit of class k is -(red - k)^2 without its red^2.
inline Graph small_classifier(Dim batch = Dim::symbol("N")) {
  Graph graph;
  graph.name = "small";
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {std::move(batch), 3, 32, 32}));
  at::Tensor weight = at::zeros({10, 3, 1, 1});
  at::Tensor bias = at::zeros({10});
  for (std::int64_t k = 0; k < 10; ++k) {
    weight[k][0][0][0] = 2.0 * static_cast<double>(k);
    bias[k] = -static_cast<double>(k * k);
  }
  Value& w = graph.add_constant("w", weight);
  Value& b = graph.add_constant("b", bias);
  Node& conv = graph.add("Conv", "conv", {&x, &w, &b});
  Node& pool = graph.add("GlobalAveragePool", "pool", {&conv.output()});
  Node& flat = graph.add("Flatten", "logits", {&pool.output()});
  graph.add_output(flat.output());
  return graph;
}

// CIFAR's layout: a label, then 32x32 red, green, blue. Image i has label i % 10 and a red level for which the model
// above, with mean 0 and std 1/255 (so that a pixel is its number), answers answers[i].
inline void write_cifar(const std::string& path, const std::vector<int>& answers) {
  std::ofstream out(path, std::ios::binary);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    out.put(static_cast<char>(i % 10));
    out << std::string(1024, static_cast<char>(answers[i])) << std::string(2048, '\0');
  }
}

inline std::string cifar_spec(const std::string& path) {
  return "cifar10:" + path + "?mean=0,0,0&std=0.00392156862745098,0.00392156862745098,0.00392156862745098";
}

}  // namespace quench

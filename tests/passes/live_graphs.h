// A layer, its BatchNormalization and a quantizer on its weight, for the tests of live BatchNormalization.
#pragma once

#include "passes/graphs.h"
#include "quench/fake_quant.h"
#include "quench/observer.h"
#include "quench/quantizers.h"

namespace quench {

inline at::Tensor run_as(const Graph& graph, const at::Tensor& x, bool training) {
  ExecOptions options;
  options.training = training;
  return Executor(graph, options).run({RtValue(x)})[0].tensor();
}

// layer -> BatchNormalization -> Relu with int8 per channel on the weight, quantizing or not, its scale from the weight
// as it will be once it is live.
inline Graph quantized_norm(Graph graph, bool quantize, int axis = 0) {
  infer_shapes(graph);
  for (const char* name : {"w", "g", "beta"}) graph.value(name).set_parameter(true);
  const QScheme scheme = QScheme::parse(concat("int8 symmetric channel:", axis));
  Node& node = insert_fake_quant(graph, graph.value("w"), {"fixed", scheme, Role::kWeight, QuantizeBy::kReciprocal, {}},
                                 {.quantize = quantize});
  Graph live = graph.clone();
  run_passes(live, {"make_norms_live"});
  const Node* norm_weight = live.find_node("layer.norm_weight");
  if (!norm_weight) return graph;
  const auto observer = make_observer("min_max", scheme);
  const std::string seen = norm_weight->output(0).name();
  observer->observe(Executor(live).run({}, {seen}).at(seen).tensor());
  set_qparams(node, observer->qparams());
  return graph;
}

inline Graph conv_with_norm(bool quantize, bool bias = true) {
  at::manual_seed(7);
  return quantized_norm(with_batch_norm("Conv", at::randn({6, 4, 3, 3}), 6, 1, bias), quantize);
}

// The bound for comparisons of one layer (n products per sum, here at most 72) computed in two ways. Both sum the same
// products in the same order up to a factor per channel, each weight, product, sum and factor rounded once: an error of
// at most (n + 8) 2^-24 of the sum of magnitudes, about 30 here, times k of at most 5; twice, for both have one.
constexpr double kLayerTolerance = 2 * (72 + 8) * 6e-8 * 30 * 5;

}  // namespace quench

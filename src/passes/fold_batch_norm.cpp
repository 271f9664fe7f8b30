// fold_batch_norm: folds a BatchNormalization into the Conv, ConvTranspose or Gemm before it.
//   before: conv -> bn -> users     after: conv' -> users
//   w' = w * g,  b' = (b - mean) * g + beta,  g = gamma / sqrt(var + epsilon)    (per output channel)
// Applies where the layer's output has no other use and all five tensors are constant. Computed in
// double: the folded weights are then the correctly rounded ones.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "ops/norm_weight.h"
#include "passes/rewrite.h"
#include "quench/pass.h"

namespace quench {
namespace {

bool matches(const Node& bn) {
  const Node* layer = is_plain_norm(bn) && bn.input(0) ? bn.input(0)->producer() : nullptr;
  return layer && takes_norm(*layer) && only_user(layer->output()) && layer->input(1)->is_constant() &&
         (!layer->input(2) || layer->input(2)->is_constant());
}

void fold(Graph& graph, Node& bn) {
  Node& layer = *bn.input(0)->producer();
  const auto constant = [&](int slot) { return bn.input(slot)->tensor().detach().to(at::kDouble); };
  const at::Tensor weight = layer.input(1)->tensor().detach();
  const at::Tensor g = constant(1) / (constant(4) + bn.get_float("epsilon", 1e-5)).sqrt();
  const at::Tensor bias = layer.input(2) ? layer.input(2)->tensor().detach().to(at::kDouble) : at::zeros_like(g);
  const at::Tensor folded_bias = (bias - constant(3)) * g + constant(2);
  const at::Tensor folded_weight = scale_channels(weight.to(at::kDouble), g, channel_place(layer));
  replace_constant(graph, layer, 1, folded_weight.to(weight.scalar_type()).contiguous(), layer.name() + ".weight");
  replace_constant(graph, layer, 2, folded_bias.to(weight.scalar_type()), layer.name() + ".bias");
  bypass(graph, bn, layer.output());
}

int fold_batch_norm(Graph& graph) {
  const c10::AutoGradMode no_grad(false);
  std::vector<Node*> found;  // collect first, edit after
  for (const auto& node : graph.nodes())
    if (matches(*node)) found.push_back(node.get());
  for (Node* bn : found) fold(graph, *bn);
  return static_cast<int>(found.size());
}

}  // namespace

QUENCH_REGISTER_PASS("fold_batch_norm", fold_batch_norm, "folds a BatchNormalization into the layer before it")

}  // namespace quench

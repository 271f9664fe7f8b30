// fold_batch_norm: folds a BatchNormalization into the Conv, ConvTranspose or Gemm before it.
//   before: conv -> bn -> users     after: conv' -> users
//   w' = w * g,  b' = (b - mean) * g + beta,  g = gamma / sqrt(var + epsilon)    (per output channel)
// Applies where the layer's output has no other use and all five tensors are constant. Computed in
// double: the folded weights are then the correctly rounded ones.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "passes/rewrite.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

bool matches(const Node& bn) {
  if (bn.op() != "BatchNormalization" || bn.get_int("training_mode", 0) != 0 || bn.inputs().size() < 5) return false;
  const Node* layer = bn.input(0) ? bn.input(0)->producer() : nullptr;
  if (!layer || !only_user(layer->output())) return false;
  if (layer->op() != "Conv" && layer->op() != "ConvTranspose" && layer->op() != "Gemm") return false;
  if (layer->op() == "Gemm" && (layer->get_float("alpha", 1.0) != 1.0 || layer->get_float("beta", 1.0) != 1.0))
    return false;
  if (!layer->input(1) || !layer->input(1)->is_constant()) return false;
  if (layer->input(2) && (!layer->input(2)->is_constant() || layer->input(2)->rank() != 1)) return false;
  for (int slot = 1; slot < 5; ++slot)
    if (!bn.input(slot) || !bn.input(slot)->is_constant()) return false;
  for (std::size_t i = 1; i < bn.outputs().size(); ++i)
    if (bn.outputs()[i]) return false;
  return true;
}

// g laid out so that it multiplies the weight: along the output channels. A grouped ConvTranspose keeps
// them in two places: group in dim 0 (with the inputs), channel within the group in dim 1.
at::Tensor scale_weight(const Node& layer, const at::Tensor& weight, const at::Tensor& g) {
  if (layer.op() != "ConvTranspose") {
    const int axis = entry_of(layer).traits.weight_axis(layer);
    std::vector<std::int64_t> shape(static_cast<std::size_t>(weight.dim()), 1);
    shape[static_cast<std::size_t>(axis)] = g.numel();
    return weight * g.reshape(shape);
  }
  const std::int64_t groups = layer.get_int("group", 1), inputs = weight.size(0), outputs = weight.size(1);
  const at::Tensor grouped = weight.reshape({groups, inputs / groups, outputs, -1});
  return (grouped * g.reshape({groups, 1, outputs, 1})).reshape(weight.sizes());
}

void fold(Graph& graph, Node& bn) {
  Node& layer = *bn.input(0)->producer();
  const auto constant = [&](int slot) { return bn.input(slot)->tensor().detach().to(at::kDouble); };
  const at::Tensor weight = layer.input(1)->tensor().detach();
  const at::Tensor g = constant(1) / (constant(4) + bn.get_float("epsilon", 1e-5)).sqrt();
  const at::Tensor bias = layer.input(2) ? layer.input(2)->tensor().detach().to(at::kDouble) : at::zeros_like(g);
  const at::Tensor folded_bias = (bias - constant(3)) * g + constant(2);
  const at::Tensor folded_weight = scale_weight(layer, weight.to(at::kDouble), g);
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

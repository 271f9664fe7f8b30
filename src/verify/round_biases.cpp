#include "verify/round_biases.h"

#include <ATen/ATen.h>

#include <limits>

#include "convert/move_codes.h"
#include "convert/quantized.h"
#include "ops/clamp.h"
#include "passes/rewrite.h"
#include "quench/op.h"

namespace quench {
namespace {

bool goes_to_a_quantizer(const Node& layer) {
  const Node* user = only_user(layer.output());
  if (user && is_clamp(*user)) user = only_user(user->output());
  while (user && lets_quantizers_up(*user)) user = only_user(user->output());
  return is_quantizer(user);
}

const Node* known_quantizer(const Node& layer, int slot) {
  const Node* node = quantizer_in_front(layer, slot);
  const bool known = node && fake_quant_spec(*node).scheme.granularity() != Granularity::kGroup;
  return known ? node : nullptr;
}

// One scale of x, and one of w for all channels or for each.
bool fits(const at::Tensor& bias, const at::Tensor& x_scale, const at::Tensor& w_scale) {
  if (x_scale.numel() != 1 || bias.dim() != 1 || (w_scale.numel() != 1 && w_scale.numel() != bias.numel()))
    return false;
  const at::Tensor codes = bias.to(at::kDouble) / (x_scale * w_scale).reshape({-1}).to(at::kDouble);
  return codes.abs().max().item<double>() < std::numeric_limits<std::int32_t>::max();
}

bool round_bias(Graph& graph, Node& layer) {
  const int slot = entry_of(layer).traits.bias_slot;
  const Node *x = known_quantizer(layer, 0), *w = known_quantizer(layer, 1);
  Value* bias = slot > 0 ? layer.input(slot) : nullptr;
  if (!x || !w || !bias || !bias->is_constant() || !goes_to_a_quantizer(layer)) return false;
  if (!fits(bias->tensor(), x->input(1)->tensor(), w->input(1)->tensor())) return false;
  insert_bias_quantizer(graph, layer, slot, *bias, *x, *w, true);
  return true;
}

}  // namespace

int round_biases(Graph& graph) {
  std::vector<Node*> layers;
  for (const auto& node : graph.nodes())
    if (node->op() == "Conv" || node->op() == "ConvTranspose" || node->op() == "Gemm") layers.push_back(node.get());
  int rounded = 0;
  for (Node* layer : layers) rounded += round_bias(graph, *layer) ? 1 : 0;
  return rounded;
}

}  // namespace quench

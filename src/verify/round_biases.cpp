#include "verify/round_biases.h"

#include <ATen/ATen.h>

#include <limits>

#include "deploy/quantized.h"
#include "passes/rewrite.h"
#include "quench/op.h"

namespace quench {
namespace {

bool goes_to_a_quantizer(const Node& layer) {
  const Node* user = only_user(layer.output());
  if (user && (user->op() == "Relu" || user->op() == "Clip")) user = only_user(user->output());
  return is_quantizer(user);
}

const Node* quantizer_of(const Node& layer, int slot) {
  const Node* node = layer.input(slot) ? layer.input(slot)->producer() : nullptr;
  const bool known = is_quantizer(node) && fake_quant_spec(*node).scheme.granularity() != Granularity::kGroup;
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
  const Node *x = quantizer_of(layer, 0), *w = quantizer_of(layer, 1);
  Value* bias = slot > 0 ? layer.input(slot) : nullptr;
  if (!x || !w || !bias || !bias->is_constant() || !goes_to_a_quantizer(layer)) return false;
  if (!fits(bias->tensor(), x->input(1)->tensor(), w->input(1)->tensor())) return false;
  Node& node = graph.insert_before(layer, "quench.QuantizeBias", graph.unique_name(bias->name() + ".rounded"),
                                   {bias, x->input(1), w->input(1)});
  node.output().set_type(bias->type());
  node.attrs["quantize"] = std::int64_t{1};
  graph.set_input(layer, slot, &node.output());
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

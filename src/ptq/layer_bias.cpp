#include "ptq/layer_bias.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/fake_quant.h"
#include "quench/op.h"

namespace quench {
namespace {

const Node* quantizer_of(const Node& layer, int slot) {
  const Value* value = layer.input(slot);
  const Node* producer = value ? value->producer() : nullptr;
  return producer && producer->op() == "quench.FakeQuant" ? producer : nullptr;
}

// The constant behind the layer's bias, through quantizers of it.
Value* bias_constant(const Node& layer) {
  Value* bias = layer.input(entry_of(layer).traits.bias_slot);
  while (bias && bias->producer() && entry_of(*bias->producer()).traits.quantizes) bias = bias->producer()->input(0);
  return bias;
}

bool has_int32_biases(const Graph& graph) {
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.QuantizeBias") return true;
  return false;
}

void add_bias(Graph& graph, Node& layer, const at::Tensor& bias) {
  const int slot = entry_of(layer).traits.bias_slot;
  Value& constant = graph.add_constant(graph.unique_name(layer.name() + ".bias"), bias);
  constant.set_parameter(true);
  graph.set_input(layer, slot, &constant);
  const Node* x = quantizer_of(layer, 0);
  const Node* w = quantizer_of(layer, 1);
  if (!x || !w || !has_int32_biases(graph)) return;
  Node& node = graph.insert_before(layer, "quench.QuantizeBias", graph.unique_name(constant.name() + ".fq"),
                                   {&constant, x->input(1), w->input(1)});
  node.output().set_type(constant.type());
  node.attrs["quantize"] = std::int64_t{1};
  graph.set_input(layer, slot, &node.output());
}

}  // namespace

std::vector<Node*> correctable_layers(const Graph& graph, std::vector<std::string>& skipped) {
  std::vector<Node*> layers;
  for (const auto& node : graph.nodes()) {
    const OpTraits& traits = entry_of(*node).traits;
    if (traits.weight_slot < 0 || !quantizer_of(*node, traits.weight_slot)) continue;
    if (fake_quant_spec(*quantizer_of(*node, traits.weight_slot)).role != Role::kWeight) continue;
    const bool known = node->op() == "Conv" || node->op() == "ConvTranspose" || node->op() == "Gemm";
    if (!known) {
      skipped.push_back(concat(node->name(), ": ", node->op(), " has no bias"));
      continue;
    }
    const Value* bias = bias_constant(*node);
    if (bias && !bias->is_constant())
      skipped.push_back(concat(node->name(), ": its bias is computed"));
    else
      layers.push_back(node.get());
  }
  return layers;
}

void shift_bias(Graph& graph, Node& layer, const at::Tensor& shift) {
  Value* bias = bias_constant(layer);
  if (!bias) {
    add_bias(graph, layer, shift.to(at::kFloat));
    return;
  }
  const at::Tensor& old = bias->tensor();
  const at::Tensor moved =
      (old.detach().to(at::kDouble) + shift.to(at::kDouble).reshape(old.sizes())).to(old.scalar_type());
  // Not in place: a graph that shares its tensors with another must not change it.
  graph.set_tensor(*bias, moved);
}

at::Tensor channel_means(const at::Tensor& y) {
  QUENCH_CHECK(y.dim() >= 2, "a layer's output must have a dimension of channels, not ", y.dim(), " dims");
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < y.dim(); ++dim)
    if (dim != 1) dims.push_back(dim);
  return y.detach().mean(dims, false, at::kDouble);
}

}  // namespace quench

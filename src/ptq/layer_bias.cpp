#include "ptq/layer_bias.h"

#include <ATen/ATen.h>

#include "platforms/plan/platform_of_model.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// Where the constant of the layer's bias is read: by the layer itself, or by a quantizer in front of it.
struct BiasPlace {
  Node* reader = nullptr;
  int slot = -1;
  Value* value() const { return reader ? reader->input(slot) : nullptr; }
};

// The Add of a constant vector that is the only reader of a MatMul: that is its bias.
BiasPlace added_bias(const Node& product) {
  const Value& y = product.output();
  if (y.uses().size() != 1 || y.is_graph_output()) return {};
  Node* add = y.uses()[0].node;
  if (add->op() != "Add" || add->input(0) == add->input(1)) return {};
  const int slot = add->input(0) == &y ? 1 : 0;
  const Value* bias = add->input(slot);
  const bool fits = bias->is_constant() && y.has_rank() && y.rank() > 0 && bias->rank() > 0 &&
                    y.dims().back() == Dim(bias->tensor().numel()) && bias->dims().back() == y.dims().back();
  return fits ? BiasPlace{add, slot} : BiasPlace{};
}

BiasPlace bias_of(Node& layer) {
  if (layer.op() == "MatMul") return added_bias(layer);
  BiasPlace place{&layer, entry_of(layer).traits.bias_slot};
  while (place.value() && place.value()->producer() && entry_of(*place.value()->producer()).traits.quantizes)
    place = {place.value()->producer(), 0};
  return place;
}

bool has_int32_biases(const QuantizedModel& model) {
  return !model.plan.platform.empty() && platform_of(model).int32_bias;
}

PlanEntry planned_bias(const std::string& bias, const Node& layer, const Node& x, const Node& w) {
  PlanEntry entry;
  entry.value = bias;
  entry.role = Role::kBias;
  entry.derived_from = {x.input(0)->name(), w.input(0)->name()};
  entry.rule = concat("bias of ", layer.op(), " '", layer.name(), "', made by bias correction");
  return entry;
}

// Why the mean of its output cannot be moved by its bias; "" if it can.
std::string why_not(Node& layer) {
  if (layer.op() == "MatMul") return added_bias(layer).value() ? "" : "no bias is added to it alone";
  if (layer.op() != "Conv" && layer.op() != "ConvTranspose" && layer.op() != "Gemm") return layer.op() + " has no bias";
  const bool scaled = layer.get_float("alpha", 1.0) != 1.0 || layer.get_float("beta", 1.0) != 1.0;
  if (layer.op() == "Gemm" && (scaled || layer.get_int("transA", 0) != 0)) return "it scales or transposes";
  const BiasPlace bias = bias_of(layer);
  if (!bias.value()) return "";
  if (!bias.value()->is_constant()) return "its bias is computed";
  if (bias.value()->rank() != 1) return "its bias is not one number per channel";
  return bias.reader != &layer && bias.reader->output().uses().size() > 1 ? "its quantized bias is shared" : "";
}

void add_bias(QuantizedModel& model, Node& layer, const at::Tensor& bias) {
  Graph& graph = model.graph;
  const int slot = entry_of(layer).traits.bias_slot;
  Value& constant = graph.add_constant(graph.unique_name(layer.name() + ".bias"), bias);
  constant.set_parameter(true);
  graph.set_input(layer, slot, &constant);
  const Node* x = quantizer_in_front(layer, 0);
  const Node* w = quantizer_in_front(layer, 1);
  if (!x || !w || !has_int32_biases(model)) return;
  insert_bias_quantizer(graph, layer, slot, constant, *x, *w, true);
  model.plan.entries.push_back(planned_bias(constant.name(), layer, *x, *w));
}

}  // namespace

std::vector<Node*> correctable_layers(const Graph& graph, std::vector<std::string>& skipped) {
  std::vector<Node*> layers;
  for (const auto& node : graph.nodes()) {
    const OpTraits& traits = entry_of(*node).traits;
    const Node* quantizer = quantizer_in_front(*node, traits.weight_slot);
    if (!quantizer || fake_quant_spec(*quantizer).role != Role::kWeight) continue;
    const std::string reason = why_not(*node);
    if (reason.empty())
      layers.push_back(node.get());
    else
      skipped.push_back(concat(node->name(), ": ", reason));
  }
  return layers;
}

void shift_bias(QuantizedModel& model, Node& layer, const at::Tensor& shift) {
  const BiasPlace bias = bias_of(layer);
  if (!bias.value()) {
    add_bias(model, layer, shift.to(at::kFloat));
    return;
  }
  const at::Tensor& old = bias.value()->tensor();
  const at::Tensor moved =
      (old.detach().to(at::kDouble) + shift.to(at::kDouble).reshape(old.sizes())).to(old.scalar_type());
  if (bias.value()->uses().size() == 1) {
    model.graph.set_tensor(*bias.value(), moved);  // not in place: a copy of the graph may share the tensor
    return;
  }
  // A bias that several layers read: from now on each has its own.
  Value& own = model.graph.add_constant(model.graph.unique_name(layer.name() + ".bias"), moved);
  own.set_parameter(bias.value()->is_parameter());
  model.graph.set_input(*bias.reader, bias.slot, &own);
}

int channel_axis(const Node& layer) { return layer.op() == "MatMul" ? -1 : 1; }

at::Tensor channel_columns(const Node& layer, const at::Tensor& y) {
  QUENCH_CHECK(y.dim() >= 2, "the output of ", layer.where(), " must have a dimension of channels, but has ", y.dim(),
               " dims");
  return y.detach().movedim(channel_axis(layer), -1).flatten(0, -2);
}

at::Tensor channel_means(const Node& layer, const at::Tensor& y) {
  return channel_columns(layer, y).mean(0, false, at::kDouble);
}

}  // namespace quench

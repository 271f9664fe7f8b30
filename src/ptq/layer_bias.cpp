#include "ptq/layer_bias.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/fake_quant.h"
#include "quench/op.h"
#include "quench/platform.h"

namespace quench {
namespace {

const Node* quantizer_of(const Node& layer, int slot) {
  const Value* value = layer.input(slot);
  const Node* producer = value ? value->producer() : nullptr;
  return producer && producer->op() == "quench.FakeQuant" ? producer : nullptr;
}

// Where the constant of the layer's bias is read: by the layer itself, or by a quantizer in front of it.
struct BiasPlace {
  Node* reader = nullptr;
  int slot = -1;
  Value* value() const { return reader ? reader->input(slot) : nullptr; }
};

// The Add of a constant vector that alone reads a MatMul: there stands its bias.
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

bool has_int32_biases(const Graph& graph) {
  const auto plan = graph.metadata.find("quench.plan");
  return plan != graph.metadata.end() && find_platform(plan_from_yaml(plan->second).platform).int32_bias;
}

void note_in_plan(Graph& graph, const std::string& bias, const Node& layer, const Node& x, const Node& w) {
  QuantPlan plan = plan_from_yaml(graph.metadata.at("quench.plan"));
  PlanEntry entry;
  entry.value = bias;
  entry.role = Role::kBias;
  entry.derived_from = {x.input(0)->name(), w.input(0)->name()};
  entry.rule = concat("bias of ", layer.op(), " '", layer.name(), "', made by bias correction");
  plan.entries.push_back(entry);
  graph.metadata["quench.plan"] = to_yaml(plan);
}

// Why the mean of its output cannot be moved by its bias; "" where it can.
std::string why_not(Node& layer) {
  if (layer.op() == "MatMul") return added_bias(layer).value() ? "" : "no bias is added to it alone";
  if (layer.op() != "Conv" && layer.op() != "ConvTranspose" && layer.op() != "Gemm") return layer.op() + " has no bias";
  const bool scaled = layer.get_float("alpha", 1.0) != 1.0 || layer.get_float("beta", 1.0) != 1.0;
  if (layer.op() == "Gemm" && (scaled || layer.get_int("transA", 0) != 0)) return "it scales or transposes";
  const BiasPlace bias = bias_of(layer);
  if (!bias.value()) return "";
  if (!bias.value()->is_constant()) return "its bias is computed";
  if (bias.value()->rank() != 1) return "its bias is not one number a channel";
  return bias.reader != &layer && bias.reader->output().uses().size() > 1 ? "its quantized bias is another's too" : "";
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
  note_in_plan(graph, constant.name(), layer, *x, *w);
}

}  // namespace

std::vector<Node*> correctable_layers(const Graph& graph, std::vector<std::string>& skipped) {
  std::vector<Node*> layers;
  for (const auto& node : graph.nodes()) {
    const OpTraits& traits = entry_of(*node).traits;
    if (traits.weight_slot < 0 || !quantizer_of(*node, traits.weight_slot)) continue;
    if (fake_quant_spec(*quantizer_of(*node, traits.weight_slot)).role != Role::kWeight) continue;
    const std::string reason = why_not(*node);
    if (reason.empty())
      layers.push_back(node.get());
    else
      skipped.push_back(concat(node->name(), ": ", reason));
  }
  return layers;
}

void shift_bias(Graph& graph, Node& layer, const at::Tensor& shift) {
  const BiasPlace bias = bias_of(layer);
  if (!bias.value()) {
    add_bias(graph, layer, shift.to(at::kFloat));
    return;
  }
  const at::Tensor& old = bias.value()->tensor();
  const at::Tensor moved =
      (old.detach().to(at::kDouble) + shift.to(at::kDouble).reshape(old.sizes())).to(old.scalar_type());
  if (bias.value()->uses().size() == 1) {
    graph.set_tensor(*bias.value(), moved);  // not in place: a copy of the graph may share the tensor
    return;
  }
  // A bias that several layers read: from now on each has its own.
  Value& own = graph.add_constant(graph.unique_name(layer.name() + ".bias"), moved);
  own.set_parameter(bias.value()->is_parameter());
  graph.set_input(*bias.reader, bias.slot, &own);
}

int channel_axis(const Node& layer) { return layer.op() == "MatMul" ? -1 : 1; }

at::Tensor channel_means(const Node& layer, const at::Tensor& y) {
  QUENCH_CHECK(y.dim() >= 2, "the output of ", layer.where(), " must have a dimension of channels, but has ", y.dim(),
               " dims");
  return y.detach().movedim(channel_axis(layer), 0).flatten(1).mean(1, false, at::kDouble);
}

}  // namespace quench

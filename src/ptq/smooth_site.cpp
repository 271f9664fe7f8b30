#include "ptq/smooth_site.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "passes/rewrite.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_vector(const Value* value, std::int64_t channels) {
  if (!value || !value->is_constant() || !is_floating(value->dtype()) || value->rank() == 0) return false;
  return value->tensor().numel() == channels && value->tensor().size(-1) == channels;
}

// The constants that scale `value` along its last axis; empty if it cannot be scaled that way.
std::vector<ConstantSlot> scaling_constants(const Value& value, std::int64_t channels) {
  Node* node = value.producer();
  if (!node) return {};
  if (node->op() == "LayerNormalization" || node->op() == "RMSNormalization") {
    if (!is_vector(node->input(1), channels)) return {};
    if (!node->input(2)) return {{node, 1}};
    return is_vector(node->input(2), channels) ? std::vector<ConstantSlot>{{node, 1}, {node, 2}}
                                               : std::vector<ConstantSlot>{};
  }
  if (node->op() != "Mul" && node->op() != "Add") return {};
  const int slot = is_vector(node->input(1), channels) ? 1 : 0;
  if (!is_vector(node->input(slot), channels)) return {};
  if (node->op() == "Mul") return {{node, slot}};
  const Value* summand = node->input(1 - slot);
  std::vector<ConstantSlot> found;
  if (only_user(*summand)) found = scaling_constants(*summand, channels);
  if (!found.empty()) found.push_back({node, slot});
  return found;
}

bool is_linear(const Node& node) {
  if (node.op() != "MatMul" && node.op() != "Gemm") return false;
  const Value* weight = node.input(1);
  if (!weight || !weight->is_constant() || weight->rank() != 2 || weight->uses().size() != 1) return false;
  return node.op() == "MatMul" ||
         (node.get_int("transA", 0) == 0 && node.get_float("alpha", 1.0) == 1.0 && node.get_float("beta", 1.0) == 1.0);
}

bool feeds_linear(const Value& x) {
  return std::any_of(x.uses().begin(), x.uses().end(),
                     [&](const Value::Use& use) { return is_linear(*use.node) && use.node->input(0) == &x; });
}

bool shares(const QuantPlan& plan, const PlanEntry& entry) {
  return !entry.shared_with.empty() || std::any_of(plan.entries.begin(), plan.entries.end(), [&](const PlanEntry& one) {
    return one.shared_with == entry.value;
  });
}

// The Add of a constant vector right after the layer, or the bias of a Gemm.
ConstantSlot bias_of(Node& layer) {
  const Value* bias = layer.op() == "Gemm" ? layer.input(2) : nullptr;
  const std::int64_t outputs = as_matrix(layer, layer.input(1)->tensor()).size(1);
  if (is_vector(bias, outputs)) return {&layer, 2};
  Node* next = only_user(layer.output());
  if (layer.op() != "MatMul" || !next || next->op() != "Add") return {};
  const int slot = next->input(0) == &layer.output() ? 1 : 0;
  return is_vector(next->input(slot), outputs) ? ConstantSlot{next, slot} : ConstantSlot{};
}

void find_biases(SmoothSite& site) {
  for (Node* layer : site.layers) {
    const ConstantSlot bias = bias_of(*layer);
    if (!bias.node) return site.biases.clear();
    site.biases.push_back(bias);
  }
}

// A factor only shifts codes that are logarithms: it moves no error.
bool has_logarithms(const PlanEntry& entry) { return entry.scheme.format() == Format::kLog; }

// "" if the tensor can be smoothed, else why not.
std::string describe(const QuantPlan& plan, SmoothSite& site) {
  const Value& x = *site.x;
  for (const Value::Use& use : x.uses()) {
    if (!is_linear(*use.node) || use.node->input(0) != &x)
      return concat("'", use.node->name(), "' reads it too, which is not a layer with a weight of its own");
    const PlanEntry* weight = plan.find(use.node->input(1)->name());
    if (!weight) return concat("the weight of '", use.node->name(), "' is float");
    if (has_logarithms(*weight)) return concat("the codes of the weight of '", use.node->name(), "' are logarithms");
    site.layers.push_back(use.node);
    site.weights.push_back(weight);
  }
  if (has_logarithms(*site.entry)) return "its codes are logarithms";
  if (x.is_graph_output()) return "it is an output of the model";
  if (!x.producer()) return "it is an input of the model";
  if (shares(plan, *site.entry)) return "it shares its scale with others";
  site.scaled = scaling_constants(x, as_matrix(*site.layers[0], site.weight(0)).size(0));
  if (!site.scaled.empty()) {
    const ConstantSlot last = site.scaled.back();
    if (last.node->op() == "Add" || last.slot == 2) site.offset = last;
  }
  find_biases(site);
  return "";
}

at::Tensor like(const Value& old, const at::Tensor& tensor) {
  return tensor.to(old.tensor().scalar_type()).contiguous();
}

void set_constant(Graph& graph, Node& node, int slot, const at::Tensor& tensor) {
  const Value& old = *node.input(slot);
  const bool parameter = old.is_parameter();
  replace_constant(graph, node, slot, like(old, tensor), old.name() + ".smooth").set_parameter(parameter);
}

Node& insert_with_vector(Graph& graph, Value& x, const char* op, const std::string& name, const at::Tensor& vector) {
  Value& constant = graph.add_constant(graph.unique_name(name + ".vector"), vector.to(at::kFloat));
  Node& node = graph.insert_after(*x.producer(), op, graph.unique_name(name), {&x, &constant});
  node.output().set_type(x.type());
  return node;
}

// (x - shift) / factor in front of the layers; the plan's quantizer then follows that.
void insert_product(Graph& graph, SmoothSite& site, const ChannelChange& change) {
  const at::Tensor scale = at::where(change.factors > 0, change.factors.reciprocal(), at::zeros_like(change.factors));
  Value* x = site.x;
  if (change.shifts.ne(0).any().item<bool>())
    x = &insert_with_vector(graph, *x, "Sub", site.x->name() + ".centred", change.shifts).output();
  x = &insert_with_vector(graph, *x, "Mul", site.x->name() + ".smooth", scale).output();
  for (Node* layer : site.layers) graph.set_input(*layer, 0, x);
  site.entry->value = x->name();
  site.entry->rule += "; behind a product that takes outlier channels out";
  for (PlanEntry* bias : site.derived)
    std::replace(bias->derived_from.begin(), bias->derived_from.end(), site.x->name(), x->name());
}

// After the layer, or after the Add of its bias.
Node& end_of(Node& layer) {
  Node* next = only_user(layer.output());
  const bool adds = next && next->op() == "Add" && (next->input(0)->is_constant() || next->input(1)->is_constant());
  return adds ? *next : layer;
}

// y + x[outliers] W[outliers]: the channels that left the quantized product.
void add_outliers(Graph& graph, Value& outliers, Node& layer, const at::Tensor& rows) {
  Node& end = end_of(layer);
  const std::string name = layer.name() + ".outliers";
  Value& weight = graph.add_constant(graph.unique_name(name + ".weight"), rows.contiguous());
  Node& product = graph.insert_before(layer, "MatMul", graph.unique_name(name), {&outliers, &weight});
  product.output().set_type(end.output().type());
  Node& sum = graph.insert_after(end, "Add", graph.unique_name(name + ".add"), {&end.output(), &product.output()});
  sum.output().set_type(end.output().type());
  graph.replace_uses(end.output(), sum.output());
}

void split_outliers(Graph& graph, SmoothSite& site, const at::Tensor& which) {
  const std::string name = graph.unique_name(site.x->name() + ".outliers");
  Value& channels = graph.add_constant(graph.unique_name(name + ".channels"), which);
  Node& gather = graph.insert_after(*site.x->producer(), "Gather", name, {site.x, &channels});
  gather.attrs["axis"] = std::int64_t{-1};
  for (std::size_t i = 0; i < site.layers.size(); ++i) {
    const at::Tensor rows = as_matrix(*site.layers[i], site.weight(i).detach());
    add_outliers(graph, gather.output(), *site.layers[i], rows.index_select(0, which));
  }
}

SmoothSite finished(QuantPlan& plan, SmoothSite site) {
  for (PlanEntry& entry : plan.entries)
    if (std::find(entry.derived_from.begin(), entry.derived_from.end(), site.x->name()) != entry.derived_from.end())
      site.derived.push_back(&entry);
  // A sum after the layer replaces its output: what is planned for that, or refers to its name, would be lost.
  for (Node* layer : site.layers) {
    const Value& output = end_of(*layer).output();
    if (plan.find(output.name()) || plan.find(layer->output().name()) || output.is_graph_output()) site.splits = false;
  }
  return site;
}

}  // namespace

at::Tensor as_matrix(const Node& layer, const at::Tensor& weight) {
  return layer.op() == "Gemm" && layer.get_int("transB", 0) != 0 ? weight.t() : weight;
}

std::vector<SmoothSite> find_smooth_sites(Graph& graph, QuantPlan& plan, std::vector<std::string>& skipped) {
  std::vector<SmoothSite> sites;
  for (PlanEntry& entry : plan.entries) {
    Value* x = graph.find_value(entry.value);
    if (!x || entry.role != Role::kActivation || !feeds_linear(*x)) continue;
    SmoothSite site;
    site.entry = &entry;
    site.x = x;
    const std::string reason = describe(plan, site);
    if (reason.empty())
      sites.push_back(finished(plan, std::move(site)));
    else
      skipped.push_back(concat(entry.value, ": ", reason));
  }
  return sites;
}

bool needs_product(const SmoothSite& site, const ChannelChange& change) {
  const bool shifts = change.shifts.ne(0).any().item<bool>();
  return site.scaled.empty() || change.factors.eq(0).any().item<bool>() || (shifts && !site.offset.node);
}

void apply_change(Graph& graph, SmoothSite& site, const ChannelChange& change) {
  const at::Tensor which = change.factors.eq(0).nonzero().flatten();
  if (which.numel() > 0) split_outliers(graph, site, which);
  for (std::size_t i = 0; i < site.biases.size(); ++i) {
    const ConstantSlot& bias = site.biases[i];
    const at::Tensor moved = change.shifts.matmul(as_matrix(*site.layers[i], site.weight(i).detach().to(at::kDouble)));
    const at::Tensor& old = bias.node->input(bias.slot)->tensor();
    set_constant(graph, *bias.node, bias.slot, old.detach().to(at::kDouble) + moved.reshape(old.sizes()));
  }
  if (needs_product(site, change)) {
    insert_product(graph, site, change);
  } else {
    for (const ConstantSlot& one : site.scaled) {
      const at::Tensor old = one.node->input(one.slot)->tensor().detach().to(at::kDouble);
      const bool is_offset = one.node == site.offset.node && one.slot == site.offset.slot;
      const at::Tensor moved = is_offset ? old - change.shifts.reshape(old.sizes()) : old;
      set_constant(graph, *one.node, one.slot, moved / change.factors.reshape(old.sizes()));
    }
  }
  for (Node* layer : site.layers) {
    const at::Tensor rows = as_matrix(*layer, layer->input(1)->tensor().detach().to(at::kDouble));
    set_constant(graph, *layer, 1, as_matrix(*layer, rows * change.factors.unsqueeze(1)));
  }
}

}  // namespace quench

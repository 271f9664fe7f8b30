#include "quench/plan_builder.h"

#include <algorithm>

#include "graph/border.h"
#include "platforms/plan/match.h"
#include "platforms/plan/plan_state.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_float(const Value& value) {
  const DType dtype = value.dtype();
  return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kUndefined;
}

bool is_one_element(const Value& value) {
  return value.has_rank() && std::all_of(value.dims().begin(), value.dims().end(),
                                         [](const Dim& dim) { return dim.is_number() && dim.number() == 1; });
}

// Operators of two operands of equal standing: a layer only where both come from the data.
bool is_binary(const std::string& op) { return op == "Add" || op == "Mul" || op == "Div" || op == "Sub"; }

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

template <typename Test>
bool any_node(const Layer& layer, const std::vector<std::string>& names, Test test) {
  for (const Node* node : layer.nodes)
    for (const std::string& name : names)
      if (test(*node, name)) return true;
  return false;
}

std::string why_excluded(const PlanState& state, const Layer& layer) {
  if (state.outside.contains(&layer.head())) return concat("'", layer.head().name(), "' lies outside of the stubs");
  return concat("'", layer.head().name(), "' is kept in float by the user");
}

}  // namespace

PlanBuilder::PlanBuilder(const Graph& graph, const std::string& platform, const QuantConfig& config)
    : state_(std::make_unique<PlanState>(graph, platform, config)) {}
PlanBuilder::~PlanBuilder() = default;

const Graph& PlanBuilder::graph() const { return state_->graph; }
const QuantConfig& PlanBuilder::config() const { return state_->config; }
bool PlanBuilder::parity() const { return state_->config.parity; }
const Options& PlanBuilder::options() const { return state_->options; }
const std::vector<Layer>& PlanBuilder::layers() const { return state_->layers; }

const Layer& PlanBuilder::layer_of(const Node& node) const { return state_->layers.at(state_->layer_index.at(&node)); }

const Layer* PlanBuilder::producer_of(const Value& value) const {
  if (is_model_input(value) || !value.producer() || state_->constants.contains(&value)) return nullptr;
  return &layer_of(*value.producer());
}

std::vector<const Layer*> PlanBuilder::consumers_of(const Value& value) const {
  std::vector<const Layer*> consumers;
  for (const Value::Use& use : value.uses()) {
    const Layer* layer = &layer_of(*use.node);
    if (std::find(consumers.begin(), consumers.end(), layer) == consumers.end()) consumers.push_back(layer);
  }
  return consumers;
}

bool PlanBuilder::is_constant(const Value& value) const { return state_->constants.contains(&value); }

bool PlanBuilder::is_activation(const Value& value) const {
  return !is_constant(value) && value.type().is_tensor() && is_float(value) && !is_one_element(value);
}

std::vector<const Value*> PlanBuilder::activations_of(const Layer& layer) const {
  std::vector<const Value*> found;
  for (const Node* node : layer.nodes) {
    for (const Value* input : node->inputs()) {
      if (!input || !is_activation(*input)) continue;
      if (input->producer() && &layer_of(*input->producer()) == &layer) continue;  // between two of its nodes
      if (std::find(found.begin(), found.end(), input) == found.end()) found.push_back(input);
    }
  }
  return found;
}

std::string PlanBuilder::part_of(const Node& node) const {
  const auto at = state_->functions.find(&node);
  return at == state_->functions.end() ? "" : "part of " + at->second;
}

bool PlanBuilder::has_weight(const Layer& layer) const {
  if (!contains(state_->platform.weighted, layer.op())) return false;
  if (layer.op() == "Gather" && layer.head().get_int("axis", 0) != 0) return false;  // takes columns: no embedding
  const int slot = entry_of(layer.head()).traits.weight_slot;
  const Value* weight = slot < 0 ? nullptr : layer.head().input(slot);
  return weight && is_constant(*weight) && is_float(*weight);
}

bool PlanBuilder::is_forced(const Layer& layer) const {
  return any_node(layer, state_->config.additional_nodes, is_named);
}

bool PlanBuilder::is_excluded(const Layer& layer) const {
  if (is_forced(layer)) return false;
  if (state_->outside.contains(&layer.head())) return true;
  if (contains(state_->config.excluded_ops, layer.op()) || any_node(layer, state_->config.excluded_nodes, is_inside))
    return true;
  bool excluded = false;  // later rules win
  for (const LayerRule& rule : state_->config.layers)
    if (matches(layer, rule)) excluded = rule.keep_float;
  return excluded;
}

bool PlanBuilder::is_listed(const Layer& layer, const std::set<std::string>& ops) const {
  if (is_forced(layer)) return true;
  const bool is_product = layer.op() == "MatMul";
  const bool is_linear = is_product && has_weight(layer);
  if (is_linear && ops.contains("Gemm")) return true;
  if (!ops.contains(layer.op()) && !contains(state_->config.additional_ops, layer.op())) return false;
  if (is_linear || (!is_product && !is_binary(layer.op()))) return true;
  return std::none_of(layer.head().inputs().begin(), layer.head().inputs().end(),
                      [&](const Value* input) { return !input || !is_activation(*input); });
}

void PlanBuilder::quantize_weights() {
  for (const Layer& layer : state_->layers)
    if (has_weight(layer)) quantize_weight(layer, concat("weight of ", layer.op(), " '", layer.head().name(), "'"));
}

void PlanBuilder::quantize_weight(const Layer& layer, const std::string& rule) {
  const Value& weight = *layer.head().input(entry_of(layer.head()).traits.weight_slot);
  if (is_excluded(layer)) {
    leave_float(weight, why_excluded(*state_, layer));
    return;
  }
  state_->request(layer, weight, Role::kWeight, rule);
}

void PlanBuilder::quantize_input(const Layer& layer, const Value& value, const std::string& rule) {
  if (!is_activation(value)) return;
  if (is_excluded(layer))
    leave_float(value, why_excluded(*state_, layer));
  else
    state_->request(layer, value, Role::kActivation, rule);
}

void PlanBuilder::quantize_output(const Layer& layer, const Value& value, const std::string& rule) {
  quantize_input(layer, value, rule);
}

void PlanBuilder::share(const Value& value, const Value& with, const std::string& rule) {
  if (!is_activation(value) || &value == &with) return;
  const Layer* layer = producer_of(value);
  if (!layer && !value.uses().empty()) layer = &layer_of(*value.uses()[0].node);
  if (!layer) return;
  PlanRequest& found = state_->request(*layer, value, Role::kActivation, rule);
  if (!found.entry.shared_with.empty() && found.entry.shared_with != with.name()) {
    // One leader is observed for all that share; two leaders would need the union of what each sees.
    found.entry.rule += concat("; not with '", with.name(), "' too: the target requantizes there");
    return;
  }
  found.entry.shared_with = with.name();
  found.entry.rule = rule;
}

void PlanBuilder::leave_float(const Value& value, const std::string& reason) {
  state_->reasons.try_emplace(&value, reason);
}

PlanEntry* PlanBuilder::find(const Value& value) {
  const auto at = state_->requests.find(&value);
  return at == state_->requests.end() ? nullptr : &at->second.entry;
}

std::vector<PlanEntry*> PlanBuilder::entries() {
  std::vector<PlanEntry*> list;
  for (auto& [value, request] : state_->requests) list.push_back(&request.entry);
  std::sort(list.begin(), list.end(), [](const PlanEntry* a, const PlanEntry* b) { return a->value < b->value; });
  return list;
}

bool PlanBuilder::has_user_rule(const PlanEntry& entry) const {
  const auto at = state_->requests.find(state_->graph.find_value(entry.value));
  return at != state_->requests.end() && at->second.ruled;
}

const QuantSettings& PlanBuilder::asked_of(const PlanEntry& entry) const {
  static const QuantSettings nothing;
  const auto at = state_->requests.find(state_->graph.find_value(entry.value));
  return at == state_->requests.end() ? nothing : at->second.asked;
}

const Layer* PlanBuilder::owner_of(const PlanEntry& entry) const {
  const Value* value = state_->graph.find_value(entry.value);
  const auto at = state_->requests.find(value);
  return at == state_->requests.end() ? nullptr : at->second.layer;
}

}  // namespace quench

#include <algorithm>

#include "graph/border.h"
#include "platforms/plan/layers.h"
#include "platforms/plan/match.h"
#include "platforms/plan/stubs.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform.h"

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

}  // namespace

PlanBuilder::PlanBuilder(const Graph& graph, const std::string& platform, const QuantConfig& config)
    : graph_(graph), platform_name_(platform_name(platform)), platform_(find_platform(platform)), config_(config) {
  QUENCH_CHECK(!config.parity || platform_.has_parity, "platform '", platform_name_,
               "' does not re-create a reference implementation: it takes no 'parity'");
  options_ = config.platform_options.checked(platform_.options, concat("platform '", platform_name_, "'"));
  check_node_names(graph, config);
  layers_ = find_layers(graph, groups_of(platform_, config), config);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (const Node* node : layers_[i].nodes) layer_index_[node] = i;
  constants_ = constant_values(graph);
  outside_ = nodes_outside_stubs(graph);
}

const Layer& PlanBuilder::layer_of(const Node& node) const { return layers_.at(layer_index_.at(&node)); }

const Layer* PlanBuilder::producer_of(const Value& value) const {
  if (is_model_input(value) || !value.producer() || constants_.contains(&value)) return nullptr;
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

bool PlanBuilder::is_constant(const Value& value) const { return constants_.contains(&value); }

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

bool PlanBuilder::has_weight(const Layer& layer) const {
  if (!contains(platform_.weighted, layer.op())) return false;
  if (layer.op() == "Gather" && layer.head().get_int("axis", 0) != 0) return false;  // takes columns: no embedding
  const int slot = entry_of(layer.head()).traits.weight_slot;
  const Value* weight = slot < 0 ? nullptr : layer.head().input(slot);
  return weight && is_constant(*weight) && is_float(*weight);
}

bool PlanBuilder::is_forced(const Layer& layer) const { return any_node(layer, config_.additional_nodes, is_named); }

bool PlanBuilder::is_excluded(const Layer& layer) const {
  if (is_forced(layer)) return false;
  if (outside_.contains(&layer.head())) return true;
  if (contains(config_.excluded_ops, layer.op()) || any_node(layer, config_.excluded_nodes, is_inside)) return true;
  bool excluded = false;  // later rules win
  for (const LayerRule& rule : config_.layers)
    if (matches(layer, rule)) excluded = rule.keep_float;
  return excluded;
}

std::string PlanBuilder::why_excluded(const Layer& layer) const {
  if (outside_.contains(&layer.head())) return concat("'", layer.head().name(), "' lies outside of the stubs");
  return concat("'", layer.head().name(), "' is kept in float by the user");
}

bool PlanBuilder::is_listed(const Layer& layer, const std::set<std::string>& ops) const {
  if (is_forced(layer)) return true;
  const bool is_product = layer.op() == "MatMul";
  const bool is_linear = is_product && has_weight(layer);
  if (is_linear && ops.contains("Gemm")) return true;
  if (!ops.contains(layer.op()) && !contains(config_.additional_ops, layer.op())) return false;
  if (is_linear || (!is_product && !is_binary(layer.op()))) return true;
  return std::none_of(layer.head().inputs().begin(), layer.head().inputs().end(),
                      [&](const Value* input) { return !input || !is_activation(*input); });
}

PlanBuilder::Request& PlanBuilder::request(const Layer& layer, const Value& value, Role role, const std::string& rule) {
  auto [at, fresh] = requests_.try_emplace(&value);
  if (fresh) {
    at->second.value = &value;
    at->second.layer = &layer;
    at->second.entry.value = value.name();
    at->second.entry.role = role;
    at->second.entry.rule = rule;
  }
  return at->second;
}

void PlanBuilder::quantize_weights() {
  for (const Layer& layer : layers_)
    if (has_weight(layer)) quantize_weight(layer, concat("weight of ", layer.op(), " '", layer.head().name(), "'"));
}

void PlanBuilder::quantize_weight(const Layer& layer, const std::string& rule) {
  const Value& weight = *layer.head().input(entry_of(layer.head()).traits.weight_slot);
  if (is_excluded(layer)) {
    leave_float(weight, why_excluded(layer));
    return;
  }
  request(layer, weight, Role::kWeight, rule);
}

void PlanBuilder::quantize_input(const Layer& layer, const Value& value, const std::string& rule) {
  if (!is_activation(value)) return;
  if (is_excluded(layer))
    leave_float(value, why_excluded(layer));
  else
    request(layer, value, Role::kActivation, rule);
}

void PlanBuilder::quantize_output(const Layer& layer, const Value& value, const std::string& rule) {
  quantize_input(layer, value, rule);
}

void PlanBuilder::share(const Value& value, const Value& with, const std::string& rule) {
  if (!is_activation(value) || &value == &with) return;
  const Layer* layer = producer_of(value);
  if (!layer && !value.uses().empty()) layer = &layer_of(*value.uses()[0].node);
  if (!layer) return;
  Request& found = request(*layer, value, Role::kActivation, rule);
  if (!found.entry.shared_with.empty() && found.entry.shared_with != with.name()) {
    // One leader is observed for all that share; two leaders would need the union of what each sees.
    found.entry.rule += concat("; not with '", with.name(), "' too: the target requantizes there");
    return;
  }
  found.entry.shared_with = with.name();
  found.entry.rule = rule;
}

void PlanBuilder::leave_float(const Value& value, const std::string& reason) { reasons_.try_emplace(&value, reason); }

PlanEntry* PlanBuilder::find(const Value& value) {
  const auto at = requests_.find(&value);
  return at == requests_.end() ? nullptr : &at->second.entry;
}

std::vector<PlanEntry*> PlanBuilder::entries() {
  std::vector<PlanEntry*> list;
  for (auto& [value, request] : requests_) list.push_back(&request.entry);
  std::sort(list.begin(), list.end(), [](const PlanEntry* a, const PlanEntry* b) { return a->value < b->value; });
  return list;
}

bool PlanBuilder::has_user_rule(const PlanEntry& entry) const {
  const auto at = requests_.find(graph_.find_value(entry.value));
  return at != requests_.end() && at->second.ruled;
}

const QuantSettings& PlanBuilder::asked_of(const PlanEntry& entry) const {
  static const QuantSettings nothing;
  const auto at = requests_.find(graph_.find_value(entry.value));
  return at == requests_.end() ? nothing : at->second.asked;
}

const Layer* PlanBuilder::owner_of(const PlanEntry& entry) const {
  const Value* value = graph_.find_value(entry.value);
  const auto at = requests_.find(value);
  return at == requests_.end() ? nullptr : at->second.layer;
}

}  // namespace quench

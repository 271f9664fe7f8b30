#include "calibrate/module_of_node.h"

#include <algorithm>

#include "platforms/plan/stubs.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// What a quantizer reads, if the value comes from one.
const Value* behind_quantizer(const Value* value) {
  while (value && is_quantizer(value->producer())) value = value->producer()->input(0);
  return value;
}

// Null for inputs and constants.
const Node* maker_of(const Value* value) {
  const Value* source = behind_quantizer(value);
  return source ? source->producer() : nullptr;
}

// Of those that take two tensors. torch gives add_scalar and mul_scalar no scale; a product with a weight is a layer.
bool has_constant_operand(const Node& node) {
  if (node.op() != "Add" && node.op() != "Mul" && node.op() != "MatMul") return false;
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Value* input) {
    const Value* source = behind_quantizer(input);
    while (source && source->producer() && source->producer()->op() == "Reshape") source = source->producer()->input(0);
    return source && source->is_constant();  // reshaped: the bias in front of a norm that trains
  });
}

// torch's modules without tensors that write with a scale of their own, by operator; "" for others.
std::string type_that_writes(const std::string& op) {
  static const std::map<std::string, std::string> types = {
      {"Add", "FloatFunctional"},        {"Mul", "FloatFunctional"},
      {"Concat", "FloatFunctional"},     {"MatMul", "FloatFunctional"},
      {"quench.QuantStub", "QuantStub"}, {"HardSwish", "Hardswish"},
      {"LeakyRelu", "LeakyReLU"},        {"Elu", "ELU"}};
  const auto at = types.find(op);
  return at == types.end() ? "" : at->second;
}

std::string parent_of(const std::string& module) {
  const std::size_t dot = module.rfind('.');
  return dot == std::string::npos ? "" : module.substr(0, dot + 1);
}

}  // namespace

ModuleOfNode::ModuleOfNode(std::vector<ModuleInfo> modules, const Graph& graph) : modules_(std::move(modules)) {
  for (const auto& node : graph.nodes()) order_.emplace(node.get(), order_.size());
}

void ModuleOfNode::name(const Node& layer, const std::string& module) { known_[&layer] = module; }

std::string ModuleOfNode::type_of(const std::string& module) const {
  for (const ModuleInfo& info : modules_)
    if (info.name == module) return info.type;
  return "";
}

const Node* ModuleOfNode::last_read(const Node& node) const {
  const Node* last = nullptr;
  for (const Value* input : node.inputs()) {
    const Node* maker = maker_of(input);
    if (maker && (!last || order_.at(maker) > order_.at(last))) last = maker;
  }
  return last;
}

std::string ModuleOfNode::of(const Node& node) {
  if (const auto at = known_.find(&node); at != known_.end()) return at->second;
  const Node* last = last_read(node);
  // A ReLU belongs to the layer that it was fused with.
  const bool is_relu = node.op() == "Relu" || node.op() == "Clip";
  const std::string type = has_constant_operand(node) ? "" : type_that_writes(node.op());
  std::string found;
  if (is_relu && last)
    found = of(*last);
  else if (!type.empty())
    found = beside(last ? *last : node, type);
  return known_[&node] = found;
}

// The first one left in the innermost module around the layer.
std::string ModuleOfNode::beside(const Node& layer, const std::string& type) {
  std::string best;
  std::size_t depth = 0;
  for (const ModuleInfo& module : modules_) {
    const std::string around = parent_of(module.name);
    if (module.type != type || taken_.contains(module.name) || !layer.name().starts_with(around)) continue;
    if (!best.empty() && around.size() <= depth) continue;
    best = module.name;
    depth = around.size();
  }
  taken_.insert(best);
  if (best.empty()) unplaced_.push_back({type, layer.name()});
  return best;
}

bool ModuleOfNode::is_certain(const std::string& module) const {
  const std::string type = type_of(module), around = parent_of(module);
  // Of several in one place nobody knows which one was called first.
  const bool is_alone = std::none_of(modules_.begin(), modules_.end(), [&](const ModuleInfo& other) {
    return other.type == type && parent_of(other.name) == around && other.name != module;
  });
  return is_alone && taken_.contains(module) &&
         std::none_of(unplaced_.begin(), unplaced_.end(),
                      [&](const Unplaced& node) { return node.type == type && node.beside.starts_with(around); });
}

std::map<std::string, std::string> modules_of_nodes(const std::vector<ModuleInfo>& modules, const Graph& graph) {
  ModuleOfNode finder(modules, graph);
  const std::set<const Node*> outside = nodes_outside_stubs(graph);
  std::map<std::string, std::string> names;
  for (const auto& node : graph.nodes()) {
    const std::string module = outside.contains(node.get()) ? "" : finder.of(*node);
    if (!module.empty()) names[node->name()] = module;
  }
  std::erase_if(names, [&](const auto& item) { return !finder.is_certain(item.second); });
  return names;
}

}  // namespace quench

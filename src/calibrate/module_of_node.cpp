#include "calibrate/module_of_node.h"

#include <algorithm>

#include "quench/quantizers.h"

namespace quench {
namespace {

// The node that made a value, behind its quantizer if it has one; null for inputs and constants.
const Node* maker_of(const Value* value) {
  const Node* node = value ? value->producer() : nullptr;
  while (is_quantizer(node)) node = node->input(0)->producer();
  return node;
}

// torch's modules without tensors that write with a scale of their own, by operator; "" for others.
std::string type_that_writes(const std::string& op) {
  static const std::map<std::string, std::string> types = {{"Add", "FloatFunctional"},
                                                           {"Mul", "FloatFunctional"},
                                                           {"Concat", "FloatFunctional"},
                                                           {"quench.QuantStub", "QuantStub"},
                                                           {"HardSwish", "Hardswish"},
                                                           {"LeakyRelu", "LeakyReLU"},
                                                           {"Elu", "ELU"}};
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
  const std::string type = type_that_writes(node.op());
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
  return best;
}

}  // namespace quench

#include "platforms/plan/layers.h"

#include <algorithm>

#include "platforms/plan/match.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// The node that alone reads what `node` writes.
Node* only_reader(const Node& node) {
  if (node.outputs().size() != 1 || !node.outputs()[0]) return nullptr;
  const Value& value = node.output();
  return value.uses().size() == 1 && !value.is_graph_output() ? value.uses()[0].node : nullptr;
}

// An Add belongs to a layer only as its bias: x + constant.
bool may_join(const Node& node, const std::set<const Value*>& constants) {
  if (node.op() == "BatchNormalization") return node.get_int("training_mode", 0) == 0;
  if (node.op() != "Add" && node.op() != "Mul") return true;
  return std::any_of(node.inputs().begin(), node.inputs().end(),
                     [&](const Value* input) { return input && constants.contains(input); });
}

std::vector<Node*> follow(Node& head, const OpChain& ops, const std::set<const Value*>& constants) {
  std::vector<Node*> chain;
  if (head.op() != ops.front()) return chain;
  chain.push_back(&head);
  for (std::size_t i = 1; i < ops.size(); ++i) {
    Node* next = only_reader(*chain.back());
    if (!next || next->op() != ops[i] || !may_join(*next, constants)) return {};
    chain.push_back(next);
  }
  return chain;
}

Node& named_node(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) {
    if (is_named(*node, name)) return *node;
    names.push_back(node->name());
  }
  const std::string nearest = nearest_name(name, names);
  fail("fuse: there is no layer '", name, "'", nearest.empty() ? "" : concat("; did you mean '", nearest, "'?"));
}

std::vector<Node*> named_chain(const Graph& graph, const std::vector<std::string>& names) {
  QUENCH_CHECK(names.size() > 1, "fuse: a list must name at least two layers");
  std::vector<Node*> chain;
  for (const std::string& name : names) {
    Node& node = named_node(graph, name);
    QUENCH_CHECK(chain.empty() || only_reader(*chain.back()) == &node, "fuse: '", name,
                 "' is not the only layer after '", names[chain.empty() ? 0 : chain.size() - 1], "'");
    chain.push_back(&node);
  }
  return chain;
}

std::vector<Node*> longest_chain(Node& head, const std::vector<OpChain>& groups,
                                 const std::set<const Value*>& constants) {
  std::vector<Node*> best = {&head};
  for (const OpChain& ops : groups) {
    std::vector<Node*> chain = follow(head, ops, constants);
    if (chain.size() > best.size()) best = std::move(chain);
  }
  return best;
}

}  // namespace

std::vector<Layer> find_layers(const Graph& graph, const std::vector<OpChain>& groups, const QuantConfig& config) {
  const std::set<const Value*> constants = constant_values(graph);
  std::map<const Node*, std::vector<Node*>> chains;  // by head
  std::set<const Node*> taken;
  for (const auto& names : config.fuse) {
    const std::vector<Node*> chain = named_chain(graph, names);
    for (const Node* node : chain)
      QUENCH_CHECK(taken.insert(node).second, "fuse: '", node->name(), "' is in two lists");
    chains[chain.front()] = chain;
  }
  std::vector<OpChain> all = groups;
  all.insert(all.end(), config.fuse_patterns.begin(), config.fuse_patterns.end());
  std::vector<Layer> layers;
  for (const auto& node : graph.nodes()) {
    if (const auto at = chains.find(node.get()); at != chains.end()) {
      layers.push_back({at->second});
    } else if (!taken.contains(node.get())) {
      std::vector<Node*> chain = longest_chain(*node, all, constants);
      // A chain ends where a list of the user's begins.
      const auto end =
          std::find_if(chain.begin(), chain.end(), [&](const Node* member) { return taken.contains(member); });
      chain.erase(end, chain.end());
      taken.insert(chain.begin(), chain.end());
      layers.push_back({std::move(chain)});
    }
  }
  return layers;
}

std::set<const Value*> constant_values(const Graph& graph) {
  std::set<const Value*> constants;
  for (const Value* value : graph.constants()) constants.insert(value);
  for (const auto& node : graph.nodes()) {
    const auto is_fixed = [&](const Value* input) { return !input || constants.contains(input); };
    if (entry_of(*node).traits.random || !std::all_of(node->inputs().begin(), node->inputs().end(), is_fixed)) continue;
    for (const Value* output : node->outputs())
      if (output) constants.insert(output);
  }
  return constants;
}

}  // namespace quench

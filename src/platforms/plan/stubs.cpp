#include "platforms/plan/stubs.h"

#include <algorithm>

namespace quench {

std::set<const Node*> nodes_outside_stubs(const Graph& graph) {
  const auto has = [&](const char* op) {
    return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) { return node->op() == op; });
  };
  const bool begins = has("quench.QuantStub"), ends = has("quench.DeQuantStub");
  if (!begins && !ends) return {};
  std::set<const Value*> inside;
  if (!begins) inside.insert(graph.inputs().begin(), graph.inputs().end());
  std::set<const Node*> outside;
  for (const auto& node : graph.nodes()) {
    const bool reads_inside = std::any_of(node->inputs().begin(), node->inputs().end(),
                                          [&](const Value* input) { return inside.contains(input); });
    if (!reads_inside && node->op() != "quench.QuantStub")
      outside.insert(node.get());
    else if (node->op() != "quench.DeQuantStub")
      inside.insert(node->outputs().begin(), node->outputs().end());
  }
  return outside;
}

}  // namespace quench

// eliminate_dead: removes nodes whose outputs nothing uses, and unused constants.
#include <algorithm>

#include "quench/pass.h"

namespace quench {
namespace {

bool is_dead(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(), [](const Value* output) {
    return !output || (output->uses().empty() && !output->is_graph_output());
  });
}

int eliminate_dead(Graph& graph) {
  int changes = 0;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {  // users before producers: one sweep is enough
    if (!is_dead(**at)) continue;
    graph.erase(**at);
    ++changes;
  }
  for (Value* constant : graph.constants()) {
    if (!constant->uses().empty() || constant->is_graph_output()) continue;
    graph.erase(*constant);
    ++changes;
  }
  return changes;
}

}  // namespace

QUENCH_REGISTER_PASS("eliminate_dead", eliminate_dead, "removes nodes and constants that nothing uses")

}  // namespace quench

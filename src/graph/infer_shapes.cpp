// Static types, node by node in topological order; each operator's own rule does the work.
#include "quench/error.h"
#include "quench/op.h"

namespace quench {

int infer_shapes(Graph& graph) {
  int changes = 0;
  for (const auto& node : graph.nodes()) {
    std::vector<TypeInfo> before;
    for (const Value* output : node->outputs()) before.push_back(output ? output->type() : TypeInfo());
    const OpEntry& entry = entry_of(*node);
    if (!entry.shapes) continue;
    with_context([&] { return concat("while inferring the shapes of ", node->where()); }, [&] { entry.shapes(*node); });
    for (std::size_t i = 0; i < before.size(); ++i)
      if (node->outputs()[i] && !(node->outputs()[i]->type() == before[i])) ++changes;
  }
  return changes;
}

}  // namespace quench

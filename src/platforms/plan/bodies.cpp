#include "platforms/plan/bodies.h"

#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

void add_layers(const Graph& body, const std::string& prefix, const std::string& reason, std::vector<PlanSkip>& found);

void add_bodies(const Graph& graph, const std::string& prefix, std::vector<PlanSkip>& found) {
  for (const auto& node : graph.nodes())
    for (const auto& [name, attr] : node->attrs)
      if (const GraphPtr* body = std::get_if<GraphPtr>(&attr))
        add_layers(**body, prefix + node->name() + "/",
                   concat("in the body '", name, "' of ", node->op(), " '", prefix, node->name(),
                          "': layers inside bodies are not quantized"),
                   found);
}

void add_layers(const Graph& body, const std::string& prefix, const std::string& reason, std::vector<PlanSkip>& found) {
  for (const auto& node : body.nodes()) {
    const OpEntry* entry = OpRegistry::instance().find(node->op());
    if (entry && entry->traits.weight_slot >= 0) found.push_back({prefix + node->name(), reason});
  }
  add_bodies(body, prefix, found);
}

}  // namespace

std::vector<PlanSkip> layers_in_bodies(const Graph& graph) {
  std::vector<PlanSkip> found;
  add_bodies(graph, "", found);
  return found;
}

}  // namespace quench

// lower_graph: applies the rules of each node, newest first, bodies included.
#include "deploy/lower.h"

#include <iterator>
#include <map>

#include "deploy/lower_rule.h"
#include "quench/error.h"

namespace quench {
namespace {

using RulesByVersion = std::map<std::int64_t, const LowerRule*, std::greater<>>;

const std::map<std::string, RulesByVersion>& rules_by_op() {
  static const std::map<std::string, RulesByVersion> rules = [] {
    std::map<std::string, RulesByVersion> result;
    for (const auto& [name, entry] : LowerRegistry::instance().entries()) {
      const auto at = name.rfind('@');
      QUENCH_CHECK(at != std::string::npos, "lowering rule '", name, "' is not named OP@VERSION");
      result[name.substr(0, at)][std::stoll(name.substr(at + 1))] = &entry.item;
    }
    return result;
  }();
  return rules;
}

void apply_rules(Graph& graph, Node& node, std::int64_t opset) {
  const auto rules = rules_by_op().find(node.op());
  if (rules == rules_by_op().end()) return;
  for (const auto& [version, rule] : rules->second) {
    if (version <= opset) return;
    with_context([&] { return concat("while lowering ", node.where(), " to opset ", opset); },
                 [&] { rule->apply(graph, node); });
  }
}

void lower_bodies(const Node& node, std::int64_t opset) {
  for (const auto& [key, attr] : node.attrs) {
    const auto* body = std::get_if<GraphPtr>(&attr);
    if (!body || !*body) continue;
    with_context([&] { return concat("in the body '", key, "' of ", node.where()); },
                 [&] { lower_graph(**body, opset); });
  }
}

}  // namespace

void lower_graph(Graph& graph, std::int64_t opset) {
  const auto& nodes = graph.nodes();
  for (auto at = nodes.begin(); at != nodes.end();) {
    const auto next = std::next(at);
    lower_bodies(**at, opset);
    apply_rules(graph, **at, opset);
    at = next;
  }
}

}  // namespace quench

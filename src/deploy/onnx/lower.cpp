// lower_graph: applies the rules of each node, newest first, then asks the table of versions whether the
// opset takes the result. Bodies too.
#include "deploy/onnx/lower.h"

#include <functional>
#include <iterator>
#include <map>
#include <unordered_set>

#include "deploy/onnx/lower_check.h"
#include "deploy/onnx/lower_rule.h"
#include "deploy/onnx/op_versions.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::int64_t kOldestOpset = 7;
using RulesByVersion = std::map<std::int64_t, const LowerRule*>;

// "ReduceMax@18" -> rules of ReduceMax, under 18.
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

// The newest rule of the node's op between the two versions; null when there is none.
const LowerRule* newest_rule(const Node& node, std::int64_t opset, std::int64_t& below) {
  const auto rules = rules_by_op().find(node.op());
  if (rules == rules_by_op().end()) return nullptr;
  auto at = rules->second.lower_bound(below);
  if (at == rules->second.begin()) return nullptr;
  --at;
  if (at->first <= opset) return nullptr;
  below = at->first;
  return at->second;
}

void lower_bodies(const Node& node, std::int64_t opset) {
  for (const auto& [key, attr] : node.attrs) {
    const auto* body = std::get_if<GraphPtr>(&attr);
    if (!body || !*body) continue;
    with_context([&] { return concat("in the body '", key, "' of ", node.where()); },
                 [&] { lower_graph(**body, opset); });
  }
}

void lower_node(Graph& graph, Node& node, std::int64_t opset) {
  lower_bodies(node, opset);
  std::int64_t below = kNewestOpset + 1;
  while (const LowerRule* rule = newest_rule(node, opset, below))
    with_context([&] { return concat("while lowering ", node.where(), " to opset ", opset); },
                 [&] { rule->apply(graph, node); });
  check_node(node, opset);
}

// What a rule put in is of the dialect still, so its shape function holds.
void infer_types(Node& node) {
  const OpEntry* entry = OpRegistry::instance().find(node.op());
  if (entry && entry->shapes) entry->shapes(node);
}

}  // namespace

void lower_graph(Graph& graph, std::int64_t opset) {
  QUENCH_CHECK(opset >= kOldestOpset && opset <= kNewestOpset, "opset ", opset, " cannot be written: ", kOldestOpset,
               " to ", kNewestOpset, " can");
  const auto& nodes = graph.nodes();
  std::unordered_set<const Node*> old, done;
  for (const auto& node : nodes) old.insert(node.get());
  for (auto at = nodes.begin(); at != nodes.end();) {
    if (!done.insert(at->get()).second) {
      ++at;
      continue;
    }
    const bool is_first = at == nodes.begin();
    const auto before = is_first ? nodes.end() : std::prev(at);
    if (!old.contains(at->get())) infer_types(**at);
    lower_node(graph, **at, opset);
    at = is_first ? nodes.begin() : std::next(before);  // what the rules put before it is lowered too
  }
}

}  // namespace quench

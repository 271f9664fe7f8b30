// upgrade_graph: walks the nodes in topological order, applies the rules of each, then its shape function.
#include "import/upgrade/upgrade.h"

#include <algorithm>
#include <iterator>

#include "import/onnx/finish.h"
#include "import/upgrade/rule.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Opsets = std::map<std::string, std::int64_t>;
using NodeIterator = std::list<std::unique_ptr<Node>>::const_iterator;
using RulesByVersion = std::map<std::int64_t, const UpgradeRule*>;

// "Clip@11" -> rules of Clip, under 11.
const std::map<std::string, RulesByVersion>& rules_by_op() {
  static const std::map<std::string, RulesByVersion> rules = [] {
    std::map<std::string, RulesByVersion> result;
    for (const auto& [name, entry] : UpgradeRegistry::instance().entries()) {
      const auto at = name.rfind('@');
      QUENCH_CHECK(at != std::string::npos, "upgrade rule '", name, "' is not named OP@VERSION");
      result[name.substr(0, at)][std::stoll(name.substr(at + 1))] = &entry.item;
    }
    return result;
  }();
  return rules;
}

// The file's version of the domain that the op belongs to ("com.microsoft.Gelu": "com.microsoft").
std::int64_t version_of(const Node& node, const Opsets& opsets) {
  const auto dot = node.op().rfind('.');
  const std::string domain = dot == std::string::npos ? "" : node.op().substr(0, dot);
  if (const auto at = opsets.find(domain); at != opsets.end()) return at->second;
  QUENCH_CHECK(!domain.empty(), node.where(), " is of ONNX's own domain, but the file imports no opset of it");
  return 1;
}

// Rules that apply to files of every opset (upgrade/microsoft.cpp) come after the last one.
constexpr std::int64_t kEveryOpset = 1000;

std::string context_of(const Node& node, std::int64_t version) {
  return version == kEveryOpset ? concat("while reading ", node.where())
                                : concat("while upgrading ", node.where(), " to opset ", version);
}

void apply_rules(Graph& graph, Node& node, std::int64_t version) {
  while (true) {
    const auto rules = rules_by_op().find(node.op());
    if (rules == rules_by_op().end()) return;
    const auto next = rules->second.upper_bound(version);
    if (next == rules->second.end()) return;
    version = next->first;
    with_context([&] { return context_of(node, version); }, [&] { next->second->apply(graph, node); });
  }
}

// What a body captures has the type that it has outside.
void hand_down_types(const Node& node, const Graph& body) {
  const auto captures = static_cast<std::size_t>(node.captures);
  if (captures > node.inputs().size() || captures > body.inputs().size()) return;  // verify() says so
  for (std::size_t i = 1; i <= captures; ++i) {
    const Value* outer = node.inputs()[node.inputs().size() - i];
    Value* inner = body.inputs()[body.inputs().size() - i];
    if (outer && inner) inner->set_type(outer->type());
  }
}

void upgrade_bodies(const Node& node, const Opsets& opsets) {
  for (const auto& [key, attr] : node.attrs) {
    const auto* body = std::get_if<GraphPtr>(&attr);
    if (!body || !*body) continue;
    hand_down_types(node, **body);
    with_context([&] { return concat("in the body '", key, "' of ", node.where()); },
                 [&] { upgrade_graph(**body, opsets); });
  }
}

void infer_types(Node& node) {
  const OpEntry* entry = OpRegistry::instance().find(node.op());
  if (!entry || !entry->shapes || !is_supported(node)) return;
  with_context([&] { return concat("while inferring the shapes of ", node.where()); }, [&] { entry->shapes(node); });
}

}  // namespace

void upgrade_graph(Graph& graph, const Opsets& opsets) {
  const auto& nodes = graph.nodes();
  for (auto at = nodes.begin(); at != nodes.end();) {
    Node& node = **at;
    const NodeIterator next = std::next(at);
    const bool is_first = at == nodes.begin();
    const NodeIterator before = is_first ? nodes.end() : std::prev(at);
    upgrade_bodies(node, opsets);
    apply_rules(graph, node, version_of(node, opsets));
    // The node, and what the rules put before and after it.
    for (auto made = is_first ? nodes.begin() : std::next(before); made != next; ++made) infer_types(**made);
    at = next;
  }
}

}  // namespace quench

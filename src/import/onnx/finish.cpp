#include "import/onnx/finish.h"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "core/joined.h"
#include "import/onnx/types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::size_t kNodesNamed = 3;  // of each unsupported operator

void for_each_body(const Node& node, const std::function<void(Graph&)>& action) {
  for (const auto& [key, attr] : node.attrs) {
    if (const auto* body = std::get_if<GraphPtr>(&attr)) action(**body);
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attr))
      for (const GraphPtr& body : *bodies) action(*body);
  }
}

using Unsupported = std::map<std::string, std::vector<std::string>>;  // operator -> names of its nodes

void collect_unsupported(const Graph& graph, Unsupported& result) {
  for (const auto& node : graph.nodes()) {
    if (!OpRegistry::instance().find(node->op())) result[node->op()].push_back(node->name());
    for_each_body(*node, [&](const Graph& body) { collect_unsupported(body, result); });
  }
}

// "Foo of domain 'com.x' (node 'a', 'b' and 2 more)"
std::string describe(const std::string& op, const std::vector<std::string>& nodes) {
  const std::size_t dot = op.rfind('.');
  const std::string domain = dot == std::string::npos ? "ai.onnx" : op.substr(0, dot);
  std::string text = concat(op.substr(dot == std::string::npos ? 0 : dot + 1), " of domain '", domain, "' (node ");
  for (std::size_t i = 0; i < nodes.size() && i < kNodesNamed; ++i) text += concat(i == 0 ? "'" : ", '", nodes[i], "'");
  if (nodes.size() > kNodesNamed) text += concat(" and ", nodes.size() - kNodesNamed, " more");
  return text + ")";
}

void refuse(const Unsupported& unsupported) {
  const std::string list = joined(unsupported, "; ", [](const auto& one) { return describe(one.first, one.second); });
  const bool of_a_domain = std::any_of(unsupported.begin(), unsupported.end(),
                                       [](const auto& one) { return one.first.find('.') != std::string::npos; });
  fail(unsupported.size() == 1 ? "an operator is" : concat(unsupported.size(), " operators are"),
       " not supported: ", list, ". `quench list ops` shows those that are",
       of_a_domain ? "; one of your own comes from a plug-in: load that first (load_plugin())" : "");
}

// Numbers of inputs that do not learn though they could: what the exporter noted, taken off the node.
std::set<std::string> fixed_inputs(Node& node) {
  std::set<std::string> slots;
  const auto noted = node.metadata.find("quench.fixed_inputs");
  if (noted == node.metadata.end()) return slots;
  std::istringstream words(noted->second);
  for (std::string slot; words >> slot;) slots.insert(slot);
  node.metadata.erase(noted);
  return slots;
}

void mark_parameters(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for_each_body(*node, mark_parameters);
    const OpEntry* entry = OpRegistry::instance().find(node->op());
    if (!entry) continue;
    const OpTraits& traits = entry->traits;
    const std::set<std::string> fixed = fixed_inputs(*node);
    for (const int slot : traits.learned_slots ? traits.learned_slots(*node) : traits.parameter_slots) {
      Value* value = fixed.contains(std::to_string(slot)) ? nullptr : node->input(slot);
      if (value && value->is_constant() && is_floating(value->dtype())) value->set_parameter(true);
    }
  }
}

// As infer_shapes, but what the file declares is used where the operator's rule knows less.
void infer_types(Graph& graph, const DeclaredTypes& declared) {
  for (const auto& node : graph.nodes()) {
    const OpEntry* entry = OpRegistry::instance().find(node->op());
    with_context([&] { return concat("while inferring the shapes of ", node->where()); },
                 [&] {
                   if (entry && entry->shapes && is_supported(*node)) entry->shapes(*node);
                   for (Value* output : node->outputs()) {
                     const auto at = output ? declared.find(output->name()) : declared.end();
                     if (at != declared.end())
                       output->set_type(merge_types(output->type(), at->second, output->name()));
                   }
                 });
  }
}

}  // namespace

bool is_supported(const Node& node) {
  Unsupported inside;
  for_each_body(node, [&](const Graph& body) { collect_unsupported(body, inside); });
  return inside.empty() && OpRegistry::instance().find(node.op());
}

DeclaredTypes declared_types(const Graph& graph) {
  DeclaredTypes types;
  for (const auto& node : graph.nodes())
    for (const Value* output : node->outputs())
      if (output) types[output->name()] = output->type();
  return types;
}

void check_and_infer(Graph& graph, const DeclaredTypes& declared, const ImportOptions& options) {
  Unsupported unsupported;
  collect_unsupported(graph, unsupported);
  if (!unsupported.empty() && !options.allow_unsupported) refuse(unsupported);
  infer_types(graph, declared);
  if (unsupported.empty()) graph.verify();
}

void finish_import(Graph& graph, const DeclaredTypes& declared, const ImportOptions& options) {
  mark_parameters(graph);
  check_and_infer(graph, declared, options);
}

}  // namespace quench

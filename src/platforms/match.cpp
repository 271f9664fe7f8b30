#include "platforms/match.h"

#include <algorithm>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {

bool matches_glob(const std::string& text, const std::string& pattern) {
  std::size_t t = 0, p = 0, star = std::string::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++t, ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

std::vector<std::string> names_of(const Node& node) {
  std::vector<std::string> names = {node.name()};
  for (const Value* output : node.outputs())
    if (output) names.push_back(output->name());
  for (const Value* input : node.inputs()) {
    if (!input || !input->is_constant()) continue;
    const std::size_t dot = input->name().rfind('.');
    if (dot != std::string::npos) names.push_back(input->name().substr(0, dot));
  }
  return names;
}

bool is_named(const Node& node, const std::string& name) {
  const std::vector<std::string> names = names_of(node);
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_inside(const Node& node, const std::string& name) {
  const auto inside = [&](const std::string& full) {
    if (full == name || full.starts_with(name + ".") || full.starts_with(name + "/")) return true;
    return full.find("/" + name + "/") != std::string::npos || full.find("/" + name + ".") != std::string::npos;
  };
  const std::vector<std::string> names = names_of(node);
  return std::any_of(names.begin(), names.end(), inside);
}

void check_node_names(const Graph& graph, const QuantConfig& config) {
  const auto check = [&](const std::vector<std::string>& names, bool (*fits)(const Node&, const std::string&)) {
    for (const std::string& name : names) {
      std::vector<std::string> known;
      bool found = false;
      for (const auto& node : graph.nodes()) {
        found = found || fits(*node, name);
        known.push_back(node->name());
      }
      if (!found) fail_unknown_name("node", name, known);
    }
  };
  check(config.additional_nodes, is_named);
  check(config.excluded_nodes, is_inside);
}

bool matches(const Layer& layer, const LayerRule& rule) {
  for (const Node* node : layer.nodes) {
    if (!rule.op.empty() && node->op() != rule.op) continue;
    if (rule.match.empty()) return true;
    for (const std::string& name : names_of(*node))
      if (matches_glob(name, rule.match) || name.starts_with(rule.match + "."))
        return true;  // the module, or inside it
  }
  return false;
}

}  // namespace quench

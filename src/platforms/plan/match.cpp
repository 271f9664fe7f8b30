#include "platforms/plan/match.h"

#include <algorithm>
#include <sstream>

#include "quench/error.h"
#include "quench/op.h"
#include "quench/registry.h"

namespace quench {
namespace {

// "Gemm|MatMul": either of them. One module of torch can be several operators.
bool is_one_of(const std::string& op, const std::string& alternatives) {
  return alternatives.empty() || ("|" + alternatives + "|").find("|" + op + "|") != std::string::npos;
}

// torch's exporter: "/layer1/layer1.0/conv1/Conv" -> "layer1.0.conv1.Conv". A member of a container repeats its name.
std::string module_path_of(const std::string& node_name) {
  std::string path, last;
  std::istringstream parts(node_name.substr(1));
  for (std::string part; std::getline(parts, part, '/'); last = part) {
    if (!last.empty() && part.starts_with(last + ".")) path.erase(path.size() - last.size());
    path += (path.empty() || path.ends_with('.') ? "" : ".") + part;
  }
  return path;
}

bool is_meant(const Node& node, const std::string& match) {
  if (match.empty()) return true;
  if (match.front() == '=') return node.name() == match.substr(1);
  if (match.find_first_of("*?") == std::string::npos) return is_inside(node, match);
  const std::vector<std::string> names = names_of(node);
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return matches_glob(name, match); });
}

// One of ours, or one that the model has without our knowing it.
void check_operators(const Graph& graph, const std::vector<std::string>& names) {
  const auto has = [&](const std::string& name) {
    return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                       [&](const auto& node) { return node->op() == name; });
  };
  for (const std::string& name : names)
    if (!OpRegistry::instance().find(name) && !has(name))
      fail_unknown_name("operator", name, OpRegistry::instance().names());
}

}  // namespace

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
  if (node.name().starts_with('/')) names.push_back(module_path_of(node.name()));
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
    return full == name || full.starts_with(name + ".") || full.starts_with(name + "/");
  };
  const std::vector<std::string> names = names_of(node);
  return std::any_of(names.begin(), names.end(), inside);
}

void check_names(const Graph& graph, const QuantConfig& config) {
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
  check_operators(graph, config.additional_ops);
  check_operators(graph, config.excluded_ops);
  for (const std::vector<std::string>& chain : config.fuse_patterns) check_operators(graph, chain);
}

bool matches(const Layer& layer, const LayerRule& rule) {
  const auto meant = [&](const Node* node) { return is_one_of(node->op(), rule.op) && is_meant(*node, rule.match); };
  return std::any_of(layer.nodes.begin(), layer.nodes.end(), meant);
}

}  // namespace quench

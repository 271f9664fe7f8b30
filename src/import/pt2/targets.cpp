#include "import/pt2/targets.h"

#include <algorithm>
#include <set>

#include "core/joined.h"
#include "import/aten/aten.h"
#include "import/aten/graph.h"
#include "import/pt2/control.h"
#include "import/pt2/names.h"
#include "import/pt2/numbers.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kModulesNamed = 3;

bool is_supported(const Pt2Node& node) {
  if (is_assertion(node) || is_number_target(node.target) || is_control_target(node.target)) return true;
  const std::string kind = kind_of_target(node.target);
  static const std::set<std::string> kSizes = {"aten::sym_size", "aten::sym_numel", "aten::item",
                                               "aten::_local_scalar_dense"};
  return kSizes.contains(kind) || (!kind.empty() && AtenRegistry::instance().find(plain_kind(kind)));
}

std::string describe(const std::string& target, const std::vector<std::string>& modules) {
  std::string text = concat(target, " (in ");
  for (std::size_t i = 0; i < modules.size() && i < kModulesNamed; ++i) text += (i == 0 ? "" : ", ") + modules[i];
  if (modules.size() > kModulesNamed) text += concat(" and ", modules.size() - kModulesNamed, " more");
  return text + ")";
}

using Unsupported = std::map<std::string, std::vector<std::string>>;  // target -> modules that use it

void collect(const Pt2Program& program, Unsupported& result) {
  for (const Pt2Node& node : program.nodes) {
    for (const auto& [name, arg] : node.inputs)
      for (const Pt2Item& item : arg.items)
        if (item.graph) collect(*item.graph, result);
    if (is_supported(node)) continue;
    std::vector<std::string>& modules = result[node.target];
    const std::string module = innermost_module(node.modules);
    const std::string text = module.empty() ? "the outermost module" : concat("module '", module, "'");
    if (std::find(modules.begin(), modules.end(), text) == modules.end()) modules.push_back(text);
  }
}

}  // namespace

std::string kind_of_target(const std::string& target) {
  constexpr const char* kPrefix = "torch.ops.";
  if (!target.starts_with(kPrefix)) return "";
  const std::size_t begin = std::string(kPrefix).size();
  const std::size_t dot = target.find('.', begin);
  if (dot == std::string::npos) return "";
  const std::size_t end = target.find('.', dot + 1);
  const std::string name = target.substr(dot + 1, end == std::string::npos ? end : end - dot - 1);
  return concat(target.substr(begin, dot - begin), "::", name);
}

bool is_assertion(const Pt2Node& node) {
  const std::string kind = kind_of_target(node.target);
  if (kind.starts_with("aten::_assert") || kind.starts_with("aten::sym_constrain_range")) return true;
  // Comparisons of sizes, for assertions to read.
  return kind.empty() && node.is_condition;
}

void check_targets(const Pt2Program& program) {
  Unsupported unsupported;
  collect(program, unsupported);
  if (unsupported.empty()) return;
  const std::string list = joined(unsupported, "; ", [](const auto& one) { return describe(one.first, one.second); });
  fail(unsupported.size() == 1 ? "an operator is" : concat(unsupported.size(), " operators are"),
       " not supported: ", list);
}

}  // namespace quench

// fuse_modules: lists of module names, checked, and as chains of nodes.
#include <algorithm>

#include "calibrate/eager_rules.h"
#include "core/joined.h"
#include "passes/rewrite.h"
#include "platforms/plan/match.h"
#include "quench/error.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

const ModuleInfo& module_named(const std::vector<ModuleInfo>& modules, const std::string& name) {
  Names names;
  for (const ModuleInfo& module : modules) {
    if (module.name == name) return module;
    names.push_back(module.name);
  }
  const std::string nearest = nearest_name(name, names);
  fail("fuse_modules: there is no submodule '", name, "'",
       nearest.empty() ? "" : concat("; did you mean '", nearest, "'?"));
}

// c: has a weight; b: BatchNorm; r: ReLU, ReLU6; else a question mark.
char kind_of(const std::string& type) {
  if (type.starts_with("Conv") || type == "Linear") return 'c';
  if (type.starts_with("BatchNorm")) return 'b';
  return type == "ReLU" || type == "ReLU6" ? 'r' : '?';
}

// Without tensors a module has no name in the graph: it is the one reader of what is before it.
Node& node_behind(Node& before, const ModuleInfo& module) {
  Node* next = only_user(before.output());
  const char* op = module.type == "ReLU6" ? "Clip" : "Relu";
  QUENCH_CHECK(next && next->op() == op, "fuse_modules: what '", before.name(), "' gives is not read by '", module.name,
               "' alone", next ? concat(", but by ", next->where()) : std::string());
  return *next;
}

Node& node_of(const Graph& graph, const ModuleInfo& module) {
  for (const auto& node : graph.nodes())
    if (is_named(*node, module.name)) return *node;
  fail("fuse_modules: the forward of the model never calls '", module.name, "'");
}

Names chain_of(const Names& list, const std::vector<ModuleInfo>& modules, const Graph& graph) {
  Names chain;
  Node* before = nullptr;
  for (const std::string& name : list) {
    const ModuleInfo& module = module_named(modules, name);
    Node& node = module.has_tensors || !before ? node_of(graph, module) : node_behind(*before, module);
    QUENCH_CHECK(!before || only_user(before->output()) == &node, "fuse_modules: what '", before->name(),
                 "' gives is not read by '", name, "' alone");
    chain.push_back(node.name());
    before = &node;
  }
  return chain;
}

}  // namespace

void check_fusible(const std::vector<ModuleInfo>& modules, const Names& names, bool is_qat) {
  std::string kinds;
  for (const std::string& name : names) kinds += kind_of(module_named(modules, name).type);
  QUENCH_CHECK(
      kinds == "cb" || kinds == "cbr" || kinds == "cr" || kinds == "br", "fuse_modules: ", joined_in_quotes(names),
      " do not fuse; what does is Conv, ConvTranspose or Linear, then BatchNorm, then ReLU or ReLU6, each step "
      "optional, or BatchNorm and ReLU");
  if (kinds.find('b') == std::string::npos) return;
  for (const std::string& name : names) {
    const ModuleInfo& module = module_named(modules, name);
    QUENCH_CHECK(is_qat || !module.training, "fuse_modules: '", name,
                 "' is in training mode; call eval() on the module before BatchNorm is fused for post-training "
                 "quantization");
    QUENCH_CHECK(!is_qat || module.training, "fuse_modules: '", name,
                 "' is in evaluation mode; call train() on the module before BatchNorm is fused for training");
  }
}

std::vector<Names> fused_nodes(const std::vector<Names>& lists, const std::vector<ModuleInfo>& modules,
                               const Graph& traced, const Graph& fused) {
  std::vector<Names> chains;
  for (const Names& list : lists) {
    Names chain = chain_of(list, modules, traced);
    std::erase_if(chain, [&](const std::string& name) { return !fused.find_node(name); });
    if (chain.size() > 1) chains.push_back(chain);
  }
  return chains;
}

}  // namespace quench

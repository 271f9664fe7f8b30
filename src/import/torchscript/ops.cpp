#include "import/torchscript/ops.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "import/torchscript/numbers.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace jit = torch::jit;
using Visit = std::function<void(const jit::Node&)>;

void visit_block(const jit::Block& block, const Visit& visit) {
  for (const jit::Node* node : block.nodes()) {
    visit(*node);
    for (const jit::Block* body : node->blocks()) visit_block(*body, visit);
  }
}

void check_node(const jit::Node& node) {
  static const std::set<std::string> kTouchesFiles = {"aten::save", "aten::from_file"};
  // What they call is not part of the inlined graph.
  static const std::set<std::string> kUnknownTarget = {"prim::CallMethod", "prim::CallFunction", "prim::fork",
                                                       "prim::awaitable", "prim::rpc_async"};
  const std::string kind = node.kind().toQualString();
  const bool ours = kind.starts_with("aten::") || kind.starts_with("prim::") || kind.starts_with("quench::");
  QUENCH_CHECK(ours, "the program calls '", kind, "', which has no counterpart here", place_in_source(node));
  QUENCH_CHECK(!kTouchesFiles.contains(kind), "the program calls '", kind, "', which touches files; it is not run",
               place_in_source(node));
  QUENCH_CHECK(kind != "prim::tolist",
               "the program makes a list of the elements of a tensor (prim::tolist), which has ", "no counterpart here",
               place_in_source(node));
  QUENCH_CHECK(!kUnknownTarget.contains(kind), "the program uses '", kind,
               "' (a call through an interface, or another thread), which is not supported", place_in_source(node));
}

constexpr double kLargestProgram = 1e6;  // nodes

const jit::Function* called_by(const jit::Node& node) {
  if (node.kind() == c10::prim::CallFunction) {
    const auto type = node.input(0)->type()->cast<c10::FunctionType>();
    return type ? type->function() : nullptr;
  }
  if (node.kind() != c10::prim::CallMethod) return nullptr;
  const auto type = node.input(0)->type()->cast<c10::ClassType>();
  return type ? type->findMethod(node.s(c10::attr::name)) : nullptr;
}

// Nodes of a program with its calls inlined: each call may stand for many more.
double size_of(const jit::Graph& graph, std::map<const jit::Function*, double>& known) {
  double size = 0.0;
  visit_block(*graph.block(), [&](const jit::Node& node) {
    size += 1.0;
    const jit::Function* called = called_by(node);
    const jit::GraphFunction* function =
        called ? jit::tryToGraphFunction(const_cast<jit::Function&>(*called)) : nullptr;
    if (!function) return;
    if (!known.contains(function)) {
      known[function] = kLargestProgram;  // while it is looked at: one that calls itself never ends
      known[function] = size_of(*function->graph(), known);
    }
    size += known[function];
  });
  return size;
}

}  // namespace

void check_inlined_size(const jit::Graph& graph) {
  std::map<const jit::Function*, double> known;
  const double size = size_of(graph, known);
  QUENCH_CHECK(size < kLargestProgram, "the program has ", size, " nodes with its calls inlined; the limit is ",
               kLargestProgram);
}

bool has_loops(const jit::Graph& graph) {
  bool found = false;
  visit_block(*graph.block(), [&](const jit::Node& node) { found = found || node.kind() == c10::prim::Loop; });
  return found;
}

void check_torchscript_ops(const jit::Graph& graph) { visit_block(*graph.block(), check_node); }

bool has_fused_attention(const jit::Graph& graph) {
  bool found = false;
  visit_block(*graph.block(), [&](const jit::Node& node) {
    const std::string kind = node.kind().toQualString();
    found = found || kind == "aten::_native_multi_head_attention" || kind == "aten::_transformer_encoder_layer_fwd";
  });
  return found;
}

}  // namespace quench

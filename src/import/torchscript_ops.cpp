#include "import/torchscript_ops.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <set>
#include <string>

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

std::string place_of(const jit::Node& node) {
  const std::string text = node.sourceRange().str();
  return text.empty() ? "" : "\n" + text.substr(0, 400);
}

void check_node(const jit::Node& node) {
  static const std::set<std::string> kTouchesFiles = {"aten::save", "aten::from_file"};
  // What they call is not part of the inlined graph.
  static const std::set<std::string> kUnknownTarget = {"prim::CallMethod", "prim::CallFunction", "prim::fork",
                                                       "prim::awaitable", "prim::rpc_async"};
  const std::string kind = node.kind().toQualString();
  const bool ours = kind.starts_with("aten::") || kind.starts_with("prim::") || kind.starts_with("quench::");
  QUENCH_CHECK(ours, "the program calls '", kind, "', which has no counterpart here", place_of(node));
  QUENCH_CHECK(!kTouchesFiles.contains(kind), "the program calls '", kind, "', which touches files; it is not run",
               place_of(node));
  QUENCH_CHECK(kind != "prim::tolist", "the program reads the elements of a tensor (prim::tolist); control flow that ",
               "depends on data cannot be traced", place_of(node));
  QUENCH_CHECK(!kUnknownTarget.contains(kind), "the program uses '", kind,
               "' (a call through an interface, or another thread), which is not supported", place_of(node));
}

}  // namespace

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

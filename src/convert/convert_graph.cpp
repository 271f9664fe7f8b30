#include "convert/convert_graph.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "convert/accumulators.h"
#include "convert/coded.h"
#include "convert/move_codes.h"
#include "convert/table.h"
#include "ops/integer_form.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {
namespace {

using Reasons = std::map<std::string, std::string>;

std::vector<Node*> quantize_nodes(const Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (node->op() == "quench.Quantize") found.push_back(node.get());
  return found;
}

// Why each layer that has a quantizer behind it stays in float.
Reasons fuse(CodeGraph& codes, const FuseOptions& options, ConvertRecord& record) {
  Reasons reasons;
  for (Node* quantize : quantize_nodes(codes.graph))
    with_context([&] { return concat("at ", quantize->where()); },
                 [&] {
                   const FusedLayer fused = fuse_layer(codes.graph, *quantize, options, codes.int32_biases);
                   if (fused.node)
                     ++record.layers;
                   else if (use_table(codes.graph, *quantize, options.arithmetic))
                     ++record.tables;
                   else if (!fused.layer.empty())
                     reasons[fused.layer] = fused.reason;
                 });
  return reasons;
}

bool computes_in_float(const Node& node) {
  if (is_integer_op(node) || entry_of(node).traits.shape_only) return false;
  const auto is_float = [](const Value* value) { return value && is_floating(value->dtype()); };
  return std::any_of(node.outputs().begin(), node.outputs().end(), is_float);
}

void list_float(const Graph& graph, const Reasons& reasons, ConvertRecord& record) {
  for (const auto& node : graph.nodes()) {
    if (!computes_in_float(*node)) continue;
    const auto reason = reasons.find(node->name());
    record.in_float.push_back(
        {node->name(), node->op(), reason != reasons.end() ? reason->second : "its result is not quantized"});
  }
}

}  // namespace

ConvertedGraph convert_graph(const Graph& quantized, const FuseOptions& options) {
  ConvertedGraph result;
  CodeGraph codes = to_codes(quantized);
  result.record.requantize = name_of(options.arithmetic.rule);
  result.record.moved = raise_quantizers(codes.graph);
  result.record.moved += move_codes(codes.graph, options.arithmetic.rule);
  const Reasons reasons = fuse(codes, options, result.record);
  codes.graph.sort();
  run_passes(codes.graph, {"eliminate_dead", "infer_shapes"});
  check_accumulators(codes.graph, result.record);
  list_float(codes.graph, reasons, result.record);
  result.graph = std::move(codes.graph);
  result.codes = std::move(codes.codes);
  return result;
}

}  // namespace quench

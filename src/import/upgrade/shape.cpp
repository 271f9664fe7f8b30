// Operators that move elements about: Slice, Pad, Split, TopK, Reshape, Tile, Concat, Scatter.
#include <ATen/ATen.h>

#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

void slice_10(Graph& graph, Node& node) {
  set_optional_input(graph, node, 1, &add_integers(graph, node, "starts", node.require_ints("starts")));
  set_optional_input(graph, node, 2, &add_integers(graph, node, "ends", node.require_ints("ends")));
  const std::vector<std::int64_t> axes = node.get_ints("axes", {});
  if (!axes.empty()) set_optional_input(graph, node, 3, &add_integers(graph, node, "axes", axes));
  for (const char* name : {"starts", "ends", "axes"}) node.attrs.erase(name);
}

void pad_2(Graph&, Node& node) {
  node.attrs["pads"] = node.require_ints("paddings");
  node.attrs.erase("paddings");
}

void pad_11(Graph& graph, Node& node) {
  set_optional_input(graph, node, 1, &add_integers(graph, node, "pads", node.require_ints("pads")));
  const double value = node.get_float("value", 0.0);
  const DType dtype = input_dtype(node, 0) == DType::kUndefined ? DType::kFloat : input_dtype(node, 0);
  if (value != 0.0) set_optional_input(graph, node, 2, &add_scalar(graph, node, "value", value, dtype));
  node.attrs.erase("pads");
  node.attrs.erase("value");
}

void split_13(Graph& graph, Node& node) {
  if (!node.has("split")) return;
  set_optional_input(graph, node, 1, &add_integers(graph, node, "split", node.require_ints("split")));
  node.attrs.erase("split");
}

// Without sizes the parts were equal, as many as there are outputs.
void split_18(Graph&, Node& node) {
  if (!node.input(1)) node.attrs["num_outputs"] = static_cast<std::int64_t>(node.outputs().size());
}

void top_k_10(Graph& graph, Node& node) {
  set_optional_input(graph, node, 1, &add_integers(graph, node, "k", {node.require_int("k")}));
  node.attrs.erase("k");
}

void reshape_5(Graph& graph, Node& node) {
  set_optional_input(graph, node, 1, &add_integers(graph, node, "shape", node.require_ints("shape")));
  node.attrs.erase("shape");
}

// (input, tiles, axis), one axis at a time -> (input, repeats)
void tile_6(Graph& graph, Node& node) {
  if (node.inputs().size() < 3) return;  // already in the form of opset 6
  QUENCH_CHECK(node.input(0) && node.input(0)->has_rank(), "the rank of the input must be known");
  QUENCH_CHECK(node.input(1) && node.input(1)->is_constant() && node.input(2) && node.input(2)->is_constant(),
               "tiles and axis must be constants");
  const int rank = node.input(0)->rank();
  const auto axis = node.input(2)->tensor().item().toLong();
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(rank), 1);
  repeats[static_cast<std::size_t>(normalize_axis(axis, rank, node))] = node.input(1)->tensor().item().toLong();
  graph.set_inputs(node, {node.input(0), &add_integers(graph, node, "repeats", repeats)});
}

void concat_4(Graph&, Node& node) { node.attrs.try_emplace("axis", std::int64_t{1}); }

void scatter_11(Graph& graph, Node& node) { graph.set_op(node, "ScatterElements"); }

}  // namespace

QUENCH_REGISTER_UPGRADE("Slice@10", slice_10, "starts, ends and axes become inputs")
QUENCH_REGISTER_UPGRADE("Pad@2", pad_2, "paddings are called pads")
QUENCH_REGISTER_UPGRADE("Pad@11", pad_11, "pads and value become inputs")
QUENCH_REGISTER_UPGRADE("Split@13", split_13, "split becomes an input")
QUENCH_REGISTER_UPGRADE("Split@18", split_18, "the number of equal parts becomes explicit")
QUENCH_REGISTER_UPGRADE("TopK@10", top_k_10, "k becomes an input")
QUENCH_REGISTER_UPGRADE("Reshape@5", reshape_5, "shape becomes an input")
QUENCH_REGISTER_UPGRADE("Tile@6", tile_6, "tiles and axis become repeats")
QUENCH_REGISTER_UPGRADE("Concat@4", concat_4, "the axis, 1 when absent, becomes explicit")
QUENCH_REGISTER_UPGRADE("Scatter@11", scatter_11, "is called ScatterElements")

}  // namespace quench

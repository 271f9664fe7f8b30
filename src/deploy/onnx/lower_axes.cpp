// Squeeze, Unsqueeze and the Reduce family: below 13 or 18 `axes` is an attribute, and there is no
// noop_with_empty_axes. Below 11 no operator counts axes from the end.
#include "deploy/onnx/lower_inputs.h"
#include "deploy/onnx/lower_rule.h"
#include "graph/edit.h"
#include "quench/error.h"

namespace quench {
namespace {

void axes_to_attr(Graph& graph, Node& node) { integers_to_attr(graph, node, 1, "axes"); }

// What is left of a reduction over no axes: the function of each element alone.
void make_elementwise(Graph& graph, Node& node) {
  Value* x = node.input(0);
  const std::string op = node.op();
  node.attrs.clear();
  if (op == "ReduceL1" || op == "ReduceL2") {
    graph.set_op(node, "Abs");
  } else if (op == "ReduceLogSum") {
    graph.set_op(node, "Log");
  } else if (op == "ReduceSumSquare") {
    graph.set_op(node, "Mul");
    graph.set_inputs(node, {x, x});
    return;
  } else {
    graph.set_op(node, "Identity");
  }
  graph.set_inputs(node, {x});
}

void reduce_18(Graph& graph, Node& node) {
  const bool noop = node.get_int("noop_with_empty_axes", 0) != 0;
  integers_to_attr(graph, node, 1, "axes");
  node.attrs.erase("noop_with_empty_axes");
  if (!node.get_ints("axes", {}).empty()) return;
  node.attrs.erase("axes");  // none: all of them
  if (noop) make_elementwise(graph, node);
}

// Of the output for Unsqueeze, whose axes are its own.
int rank_of_axes(const Node& node) {
  const Value* x = node.input(0);
  QUENCH_CHECK(x && x->has_rank(), "axes counted from the end need opset 11 where the rank is not known");
  return x->rank() + (node.op() == "Unsqueeze" ? static_cast<int>(node.get_ints("axes", {}).size()) : 0);
}

void count_from_the_start(Graph&, Node& node) {
  if (node.has("axis") && node.get_int("axis", 0) < 0)
    node.attrs["axis"] = node.get_int("axis", 0) + rank_of_axes(node);
  if (!node.has("axes")) return;
  std::vector<std::int64_t> axes = node.require_ints("axes");
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += rank_of_axes(node);
  node.attrs["axes"] = axes;
}

[[maybe_unused]] const bool registered = [] {
  for (const char* op :
       {"ArgMax",    "ArgMin",          "Compress",        "Concat",    "Flatten",    "Gather",    "ReduceL1",
        "ReduceL2",  "ReduceLogSum",    "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
        "ReduceSum", "ReduceSumSquare", "Slice",           "Split",     "Squeeze",    "Unsqueeze"})
    LowerRegistry::instance().add(concat(op, "@11"), {count_from_the_start}, "axes are counted from the start",
                                  __FILE__);
  return true;
}();

}  // namespace

QUENCH_REGISTER_LOWERING("Squeeze@13", axes_to_attr, "axes become an attribute")
QUENCH_REGISTER_LOWERING("Unsqueeze@13", axes_to_attr, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceSum@13", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceL1@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceL2@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceLogSum@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceLogSumExp@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceMax@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceMean@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceMin@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceProd@18", reduce_18, "axes become an attribute")
QUENCH_REGISTER_LOWERING("ReduceSumSquare@18", reduce_18, "axes become an attribute")

}  // namespace quench

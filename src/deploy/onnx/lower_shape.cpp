// Operators that move elements about, and Shape: Split, Pad, Slice, TopK, Reshape, Scatter.
#include <algorithm>

#include "deploy/onnx/lower_inputs.h"
#include "deploy/onnx/lower_rule.h"
#include "graph/edit.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// Below 18 parts without sizes must be equal; if it is known that they are not, the sizes are written.
void split_18(Graph& graph, Node& node) {
  const std::int64_t parts = node.get_int("num_outputs", 0);
  node.attrs.erase("num_outputs");
  const Value* x = node.input(0);
  if (node.input(1) || parts == 0 || !x || !x->has_rank()) return;
  const Dim& dim = x->dims()[static_cast<std::size_t>(normalize_axis(node.get_int("axis", 0), x->rank(), node))];
  if (!dim.is_number() || dim.number() % parts == 0) return;
  const std::int64_t part = (dim.number() + parts - 1) / parts;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), part);
  sizes.back() = dim.number() - part * (parts - 1);
  QUENCH_CHECK(sizes.back() >= 0, dim.number(), " elements do not split into ", parts, " parts");
  set_optional_input(graph, node, 1, &add_integers(graph, node, "split", sizes));
}

void split_13(Graph& graph, Node& node) { integers_to_attr(graph, node, 1, "split"); }

void pad_19(Graph&, Node& node) {
  QUENCH_CHECK(node.get_string("mode", "constant") != "wrap", "mode=wrap needs opset 19");
}

// Pads of some axes -> pads of all.
void pad_18(Graph& graph, Node& node) {
  if (!node.input(3)) return;
  QUENCH_CHECK(node.input(0) && node.input(0)->has_rank(), "the rank of the input must be known to do without 'axes'");
  const auto rank = static_cast<std::size_t>(node.input(0)->rank());
  const std::vector<std::int64_t> pads = constant_integers(node, 1, "pads"), axes = constant_integers(node, 3, "axes");
  QUENCH_CHECK(pads.size() == 2 * axes.size(), pads.size(), " pads for ", axes.size(), " axes");
  std::vector<std::int64_t> all(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalize_axis(axes[i], static_cast<int>(rank), node));
    all[axis] = pads[i];
    all[axis + rank] = pads[i + axes.size()];
  }
  graph.set_input(node, 1, &add_integers(graph, node, "pads", all));
  drop_input(graph, node, 3);
}

void pad_11(Graph& graph, Node& node) {
  number_to_attr(graph, node, 2, "value");
  integers_to_attr(graph, node, 1, "pads");
}

void slice_10(Graph& graph, Node& node) {
  if (node.input(4)) {
    const std::vector<std::int64_t> steps = constant_integers(node, 4, "steps");
    QUENCH_CHECK(std::all_of(steps.begin(), steps.end(), [](auto step) { return step == 1; }),
                 "steps other than 1 need opset 10");
    drop_input(graph, node, 4);
  }
  integers_to_attr(graph, node, 3, "axes");
  integers_to_attr(graph, node, 2, "ends");
  integers_to_attr(graph, node, 1, "starts");
}

void top_k_10(Graph& graph, Node& node) {
  node.attrs["k"] = static_cast<std::int64_t>(constant_number(node, 1, "k"));
  drop_input(graph, node, 1);
}

// A part of the shape -> a Slice of the whole.
void shape_15(Graph& graph, Node& node) {
  const std::int64_t start = node.get_int("start", 0);
  const bool has_end = node.has("end");
  const std::int64_t end = node.get_int("end", 0);
  node.attrs.erase("start");
  node.attrs.erase("end");
  if (start == 0 && !has_end) return;
  constexpr std::int64_t kToTheEnd = std::int64_t{1} << 31;
  Value& from = add_integers(graph, node, "start", {start});
  Value& to = add_integers(graph, node, "end", {has_end ? end : kToTheEnd});
  insert_behind(graph, node, 0, "Slice", {&from, &to});
}

// Below 14 a 0 in the shape always copies a dim. Where the shape is known to have none, or is the shape
// of another tensor (whose dims are 0 only where the input has no elements either), that is the same.
void reshape_14(Graph&, Node& node) {
  if (node.get_int("allowzero", 0) == 0) return;
  const auto contents = input_contents(node, 1);
  const bool has_zero = contents && std::find(contents->begin(), contents->end(), Dim(0)) != contents->end();
  const bool is_shape = node.input(1) && node.input(1)->producer() && node.input(1)->producer()->op() == "Shape";
  QUENCH_CHECK((contents && !has_zero) || is_shape, "allowzero=1 needs opset 14");
  node.attrs.erase("allowzero");
}

void scatter_18(Graph&, Node& node) {
  const std::string reduction = node.get_string("reduction", "none");
  QUENCH_CHECK(reduction != "max" && reduction != "min", "reduction=", reduction, " needs opset 18");
}

// Below 11 it is called Scatter.
void scatter_elements_11(Graph& graph, Node& node) {
  QUENCH_CHECK(node.get_string("reduction", "none") == "none", "a reduction needs opset 16");
  node.attrs.erase("reduction");
  graph.set_op(node, "Scatter");
}

}  // namespace

QUENCH_REGISTER_LOWERING("Split@18", split_18, "num_outputs goes")
QUENCH_REGISTER_LOWERING("Split@13", split_13, "split becomes an attribute")
QUENCH_REGISTER_LOWERING("Pad@19", pad_19, "refuses mode=wrap")
QUENCH_REGISTER_LOWERING("Pad@18", pad_18, "pads of some axes become pads of all")
QUENCH_REGISTER_LOWERING("Pad@11", pad_11, "pads and value become attributes")
QUENCH_REGISTER_LOWERING("Slice@10", slice_10, "starts, ends and axes become attributes")
QUENCH_REGISTER_LOWERING("TopK@10", top_k_10, "k becomes an attribute")
QUENCH_REGISTER_LOWERING("Shape@15", shape_15, "start and end become a Slice")
QUENCH_REGISTER_LOWERING("Reshape@14", reshape_14, "allowzero goes where it changes nothing")
QUENCH_REGISTER_LOWERING("ScatterElements@18", scatter_18, "refuses reduction=max and min")
QUENCH_REGISTER_LOWERING("ScatterND@18", scatter_18, "refuses reduction=max and min")
QUENCH_REGISTER_LOWERING("ScatterElements@11", scatter_elements_11, "is called Scatter")

}  // namespace quench

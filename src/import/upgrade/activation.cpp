// Activations and Dropout: Clip, PRelu, Selu, and the Softmax family, which below 13 worked on a matrix.
#include <algorithm>

#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

DType dtype_or_float(const Node& node) {
  const DType dtype = input_dtype(node, 0);
  return dtype == DType::kUndefined ? DType::kFloat : dtype;
}

void clip_11(Graph& graph, Node& node) {
  const DType dtype = dtype_or_float(node);
  if (node.has("min"))
    set_optional_input(graph, node, 1, &add_scalar(graph, node, "min", node.get_float("min", 0.0), dtype));
  if (node.has("max"))
    set_optional_input(graph, node, 2, &add_scalar(graph, node, "max", node.get_float("max", 0.0), dtype));
  node.attrs.erase("min");
  node.attrs.erase("max");
}

// A slope of one dimension was one per channel, whatever the rank of the data.
void prelu_7(Graph& graph, Node& node) {
  const Value* slope = node.input(1);
  QUENCH_CHECK(slope && slope->has_rank(), "the rank of the slope must be known");
  if (slope->rank() != 1 || slope->dims()[0] == Dim(1)) return;
  QUENCH_CHECK(node.input(0) && node.input(0)->has_rank(), "the rank of the input must be known");
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis + 1 < node.input(0)->rank(); ++axis) axes.push_back(axis);
  unsqueeze_input(graph, node, 1, axes);
}

void selu_6(Graph&, Node& node) {
  node.attrs.try_emplace("alpha", 1.6732);
  node.attrs.try_emplace("gamma", 1.0507);
  node.attrs.erase("consumed_inputs");
}

// Whether this is a training run is up to the executor.
void dropout_7(Graph&, Node& node) { node.attrs.erase("is_test"); }

// The mask had the type of the data.
void dropout_10(Graph& graph, Node& node) {
  if (node.outputs().size() < 2 || !node.outputs()[1]) return;
  const Value& mask = *node.outputs()[1];
  if (mask.uses().empty() && !mask.is_graph_output()) return;
  insert_behind(graph, node, 1, "Cast", {}).attrs["to"] = static_cast<std::int64_t>(dtype_or_float(node));
}

void dropout_12(Graph& graph, Node& node) {
  if (node.has("ratio"))
    set_optional_input(graph, node, 1, &add_scalar(graph, node, "ratio", node.get_float("ratio", 0.5), DType::kFloat));
  node.attrs.erase("ratio");
}

bool is_one(const Dim& dim) { return dim == Dim(1); }

// Below 13 the input was seen as a matrix, cut before `axis`, and the function taken over its rows. That
// is the function along `axis` when only dims of 1 follow; else the matrix is made.
void softmax_13(Graph& graph, Node& node) {
  const std::int64_t axis = node.get_int("axis", 1);
  Value* x = node.input(0);
  QUENCH_CHECK(x, "the input is absent");
  node.attrs["axis"] = std::int64_t{-1};
  if (axis == -1) return;
  if (x->has_rank()) {
    const Dims& dims = x->dims();
    const std::int64_t cut = axis < 0 ? axis + x->rank() : axis;
    QUENCH_CHECK(cut >= 0 && cut <= x->rank(), "axis ", axis, " does not fit an input of rank ", x->rank());
    if (cut < x->rank() && std::all_of(dims.begin() + cut + 1, dims.end(), is_one)) {
      node.attrs["axis"] = cut;
      return;
    }
  }
  Node& shape = graph.insert_before(node, "Shape", node.name() + "_Shape", {x});
  Node& flatten = graph.insert_before(node, "Flatten", node.name() + "_Flatten", {x});
  flatten.attrs["axis"] = axis;
  graph.set_input(node, 0, &flatten.output());
  insert_behind(graph, node, 0, "Reshape", {&shape.output()}).attrs["allowzero"] = std::int64_t{1};
}

}  // namespace

QUENCH_REGISTER_UPGRADE("Clip@11", clip_11, "min and max become inputs")
QUENCH_REGISTER_UPGRADE("PRelu@7", prelu_7, "a slope per channel gets the dims that broadcasting needs")
QUENCH_REGISTER_UPGRADE("Selu@6", selu_6, "the older constants become explicit")
QUENCH_REGISTER_UPGRADE("Dropout@7", dropout_7, "is_test goes")
QUENCH_REGISTER_UPGRADE("Dropout@10", dropout_10, "the mask is cast to the type it had")
QUENCH_REGISTER_UPGRADE("Dropout@12", dropout_12, "ratio becomes an input")
QUENCH_REGISTER_UPGRADE("Softmax@13", softmax_13, "works along an axis, not on a matrix")
QUENCH_REGISTER_UPGRADE("LogSoftmax@13", softmax_13, "works along an axis, not on a matrix")
QUENCH_REGISTER_UPGRADE("Hardmax@13", softmax_13, "works along an axis, not on a matrix")

}  // namespace quench

// Normalization: BatchNormalization's training_mode, and GroupNormalization, whose version of opset 18 is
// deprecated (its scale and bias were per group).
#include <ATen/ATen.h>

#include "deploy/onnx/lower_rule.h"
#include "graph/edit.h"
#include "graph/tensor_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// Below 14 the number of outputs says the mode.
void batch_norm_14(Graph&, Node& node) {
  const bool training = node.get_int("training_mode", 0) != 0;
  const bool several = node.outputs().size() > 1;
  QUENCH_CHECK(training == several,
               training ? "training_mode=1 with one output" : "several outputs without training_mode",
               " cannot be expressed below opset 14");
  node.attrs.erase("training_mode");
}

Value& add_filled(Graph& graph, const Node& node, const char* suffix, std::int64_t count, double value) {
  const DType dtype = input_dtype(node, 0) == DType::kUndefined ? DType::kFloat : input_dtype(node, 0);
  const at::Tensor tensor = at::full({count}, value, at::kDouble).to(scalar_type_of(dtype));
  return graph.add_constant(graph.unique_name(concat(node.name(), "_", suffix)), tensor, dtype);
}

// Each group is one channel of an InstanceNormalization.
void groups_as_channels(Graph& graph, Node& node, std::int64_t groups) {
  Value* x = node.input(0);
  Node& shape = graph.insert_before(node, "Shape", node.name() + "_Shape", {x});
  Value& grouped = add_integers(graph, node, "grouped", {0, groups, -1});
  Node& reshape = graph.insert_before(node, "Reshape", node.name() + "_Reshape", {x, &grouped});
  graph.set_op(node, "InstanceNormalization");
  graph.set_inputs(node, {&reshape.output(), &add_filled(graph, node, "one", groups, 1.0),
                          &add_filled(graph, node, "zero", groups, 0.0)});
  insert_behind(graph, node, 0, "Reshape", {&shape.output()});
  node.output().set_type(TypeInfo::tensor(node.output().dtype()));
}

// Scale and bias are per channel, so nodes of their own apply them.
void group_norm_21(Graph& graph, Node& node) {
  const std::int64_t groups = node.require_int("num_groups");
  const Value* x = node.input(0);
  QUENCH_CHECK(x && x->has_rank(), "the rank of the input must be known below opset 21");
  QUENCH_CHECK(node.get_int("stash_type", 1) == 1, "a stash_type other than float needs opset 21");
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis + 1 < x->rank(); ++axis) axes.push_back(axis);
  Value *scale = node.input(1), *bias = node.input(2);
  QUENCH_CHECK(scale && bias, "scale and bias must be there");
  graph.set_inputs(node, {node.input(0)});
  node.attrs.erase("stash_type");
  node.attrs.erase("num_groups");
  unsqueeze_input(graph, insert_behind(graph, node, 0, "Add", {bias}), 1, axes);
  unsqueeze_input(graph, insert_behind(graph, node, 0, "Mul", {scale}), 1, axes);
  groups_as_channels(graph, node, groups);
}

}  // namespace

QUENCH_REGISTER_LOWERING("BatchNormalization@14", batch_norm_14, "training_mode becomes the number of outputs")
QUENCH_REGISTER_LOWERING("GroupNormalization@21", group_norm_21, "becomes InstanceNormalization, Mul and Add")

}  // namespace quench

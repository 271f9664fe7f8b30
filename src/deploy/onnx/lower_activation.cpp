// Activations, Dropout and casts.
#include "deploy/onnx/lower_inputs.h"
#include "deploy/onnx/lower_rule.h"
#include "graph/edit.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

void clip_11(Graph& graph, Node& node) {
  number_to_attr(graph, node, 2, "max");
  number_to_attr(graph, node, 1, "min");
}

// Nothing below 12 expresses training_mode; outside of training it is ignored anyway.
void dropout_12(Graph& graph, Node& node) {
  const Value* training = node.input(2);
  QUENCH_CHECK(!training || constant_number(node, 2, "training_mode") == 0.0, "training_mode=1 needs opset 12");
  drop_input(graph, node, 2);
  number_to_attr(graph, node, 1, "ratio");
  node.attrs.erase("seed");
}

// Below 10 the mask has the type of the data.
void dropout_10(Graph& graph, Node& node) {
  if (node.outputs().size() < 2 || !node.outputs()[1]) return;
  const Value& mask = *node.outputs()[1];
  if (mask.uses().empty() && !mask.is_graph_output()) return;
  insert_behind(graph, node, 1, "Cast", {}).attrs["to"] = static_cast<std::int64_t>(DType::kBool);
  node.outputs()[1]->set_type(node.output(0).type());
}

// Below 13 everything from `axis` on is taken together, so only the last axis means the same.
void softmax_13(Graph&, Node& node) {
  const Value* x = node.input(0);
  const std::int64_t axis = node.get_int("axis", -1);
  QUENCH_CHECK(x && x->has_rank(), "the rank of the input must be known below opset 13");
  QUENCH_CHECK(normalize_axis(axis, x->rank(), node) == x->rank() - 1, "axis=", axis, " of rank ", x->rank(),
               " is not the last, which needs opset 13");
  node.attrs["axis"] = static_cast<std::int64_t>(x->rank() - 1);
}

bool is_float8(DType dtype) {
  return dtype == DType::kFloat8E4M3Fn || dtype == DType::kFloat8E4M3Fnuz || dtype == DType::kFloat8E5M2 ||
         dtype == DType::kFloat8E5M2Fnuz || dtype == DType::kFloat8E8M0;
}

// Saturation is for float8 alone.
void cast_19(Graph&, Node& node) {
  if (!is_float8(dtype_from_onnx(node.require_int("to")))) node.attrs.erase("saturate");
}

}  // namespace

QUENCH_REGISTER_LOWERING("Clip@11", clip_11, "min and max become attributes")
QUENCH_REGISTER_LOWERING("Dropout@12", dropout_12, "ratio becomes an attribute")
QUENCH_REGISTER_LOWERING("Dropout@10", dropout_10, "the mask is cast to bool")
QUENCH_REGISTER_LOWERING("Softmax@13", softmax_13, "only along the last axis")
QUENCH_REGISTER_LOWERING("LogSoftmax@13", softmax_13, "only along the last axis")
QUENCH_REGISTER_LOWERING("Hardmax@13", softmax_13, "only along the last axis")
QUENCH_REGISTER_LOWERING("Cast@19", cast_19, "saturate goes where it means nothing")

}  // namespace quench

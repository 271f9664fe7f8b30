// ONNX Runtime's matrix products of codes with float results (domain com.microsoft), which its dynamic quantization
// writes, as the ONNX operators that they stand for. See upgrade/microsoft.cpp for the version.
#include "graph/edit.h"
#include "import/upgrade/rule.h"
#include "quench/error.h"

namespace quench {
namespace {

// Codes with their scale and zero point (null: 0).
struct Factor {
  Value *codes, *scale, *zero_point;
};

// The type of the scales and the result; a file that does not give one means float.
DType result_type(const Factor& a, const Factor& b) {
  for (const Value* scale : {a.scale, b.scale})
    if (is_floating(scale->dtype())) return scale->dtype();
  return DType::kFloat;
}

// float(A B) * (s_A s_B) + bias, in the scales' type. The node stays the product and keeps its name.
void product(Graph& graph, Node& node, const Factor& a, const Factor& b, Value* bias) {
  QUENCH_CHECK(a.codes && a.scale && b.codes && b.scale, "a factor or its scale is absent");
  Node& scale = graph.insert_before(node, "Mul", node.name() + "_scale", {a.scale, b.scale});
  graph.set_op(node, "MatMulInteger");
  graph.set_inputs(node, {a.codes, b.codes, a.zero_point, b.zero_point});
  node.attrs.clear();
  node.output().set_type({});  // from here on: int32
  Node& cast = insert_behind(graph, node, 0, "Cast", {});
  cast.attrs["to"] = static_cast<std::int64_t>(result_type(a, b));
  Node& scaled = insert_behind(graph, cast, 0, "Mul", {&scale.output()});
  if (bias) insert_behind(graph, scaled, 0, "Add", {bias});
}

// A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?
void mat_mul_integer_to_float(Graph& graph, Node& node) {
  product(graph, node, {node.input(0), node.input(2), node.input(4)}, {node.input(1), node.input(3), node.input(5)},
          node.input(6));
}

// A, B, b_scale, b_zero_point?, bias?; A is float and gets codes by its own range.
void dynamic_quantize_mat_mul(Graph& graph, Node& node) {
  QUENCH_CHECK(node.input(0), "input 0 is absent");
  const Node& a = graph.insert_before(node, "DynamicQuantizeLinear", node.name() + "_codes", {node.input(0)}, 3);
  product(graph, node, {&a.output(0), &a.output(1), &a.output(2)}, {node.input(1), node.input(2), node.input(3)},
          node.input(4));
}

}  // namespace

QUENCH_REGISTER_UPGRADE("com.microsoft.MatMulIntegerToFloat@1000", mat_mul_integer_to_float,
                        "MatMulInteger, Cast, Mul, Add")
QUENCH_REGISTER_UPGRADE("com.microsoft.DynamicQuantizeMatMul@1000", dynamic_quantize_mat_mul,
                        "DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Add")

}  // namespace quench

// QuantizeLinear and DequantizeLinear. Which types need which opset (float8: 19; 4 and 16 bits: 21) is in
// the table of versions.
#include <ATen/ATen.h>

#include "deploy/onnx/lower_rule.h"
#include "graph/edit.h"
#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

// Below 21 the type is that of the zero point.
void quantize_21(Graph& graph, Node& node) {
  const auto number = node.get_int("output_dtype", 0);
  node.attrs.erase("output_dtype");
  if (node.input(2) || number == 0) return;
  const DType dtype = dtype_from_onnx(number);
  const Value* scale = node.input(1);
  QUENCH_CHECK(scale && scale->is_constant(), "without a zero point, the scale must be a constant below opset 21");
  const at::Tensor zeros = at::zeros(scale->tensor().sizes(), scalar_type_of(dtype));
  set_optional_input(graph, node, 2, &graph.add_constant(graph.unique_name(node.name() + "_zero_point"), zeros, dtype));
}

// Below 13 there is one scale only; the axis then means nothing.
void quantize_13(Graph&, Node& node) {
  const Value* scale = node.input(1);
  QUENCH_CHECK(scale && scale->has_rank() && scale->rank() == 0, "a scale per channel needs opset 13");
  node.attrs.erase("axis");
}

}  // namespace

QUENCH_REGISTER_LOWERING("QuantizeLinear@21", quantize_21, "output_dtype becomes a zero point")
QUENCH_REGISTER_LOWERING("QuantizeLinear@13", quantize_13, "only one scale")
QUENCH_REGISTER_LOWERING("DequantizeLinear@13", quantize_13, "only one scale")

}  // namespace quench

// Operators on codes, as a converted graph has them (domain quench). Codes are plain integer tensors; what they mean
// stands beside them in the node.
//
//   quench.Quantize (x, scale, zero_point) -> codes        attributes scheme, by ("division" or "reciprocal")
//   quench.Dequantize (codes, scale, zero_point) -> float  attribute scheme
//   quench.QConv, QConvTranspose, QGemm, QMatMul, QAdd, QMul, QConcat, QAveragePool, QGlobalAveragePool
//     inputs: each operand as (codes, scale, zero_point), then y_scale, y_zero_point, then the int32 bias at s_x * s_w
//     attributes: those of the float operator, with explicit pads; requantize (a rule of quant/requantize.h) and
//     multiplier_bits (of half_up); schemes: one text for each operand, then the result's; clip_min and clip_max, real
//     numbers, and activation, a name to print, where a Relu or Clip is part of the operator
//   quench.QTable (codes, table, x_scale, x_zero_point, y_scale, y_zero_point) -> codes
//     y = table[code - least code of x]; attributes schemes (x's, y's), function (a name to print)
//
// Scales and zero points are constants. Operators that move codes (Reshape, MaxPool ...) are ONNX's own.
#pragma once

#include <string>
#include <vector>

#include "quant/requantize.h"
#include "quench/graph.h"

namespace quench {

struct IntegerForm {
  std::vector<QType> in;   // of the operands; none of a Quantize
  std::vector<int> slots;  // of the operands' codes
  QType y;                 // of a Dequantize: that of its input
  Arithmetic arithmetic;
  Clip clip;
  int bias_slot = -1;
};

bool is_integer_op(const Node& node);        // one of those above
std::string float_op(const Node& node);      // "Conv" for a quench.QConv; "" for a Quantize, Dequantize or QTable
IntegerForm integer_form(const Node& node);  // throws, naming the node, if it is none or does not fit the above

// Throws if the graph computes on codes: "the model is converted (...): `nothing`; take the calibrated model ...".
void check_not_converted(const Graph& graph, const char* nothing);

DType code_dtype(const QScheme& scheme);  // int8, uint8, int16 or uint16: what activations of the scheme are held in

}  // namespace quench

// Operators that compute on codes (QLinearConv and the like, QGemm) instead of
//   DequantizeLinear -> operator [-> Relu or Clip] -> QuantizeLinear
#pragma once

#include <set>
#include <string>

#include "quench/graph.h"

namespace quench {

// Changes a graph of Q/DQ pairs wherever all tensors of an operator have codes of 8 bits; the others stay between
// their pairs. A bias in float becomes one in int32 at s_x * s_w (D34: rounded). Operators that only move elements
// (MaxPool, Reshape) work on the codes themselves where the pairs around them are the same. With `only`, no others are
// replaced. The QuantizeLinear gives its name and its output to the operator that takes its place.
// Returns how many operators were replaced.
int use_quantized_operators(Graph& qdq, const std::set<std::string>& only = {});

// Codes of int8 become uint8, 128 higher, zero points with them: the same numbers.
void shift_to_uint8(Graph& qdq);

}  // namespace quench

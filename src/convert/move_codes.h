// Operators that move numbers move codes as well.
#pragma once

#include "quant/requantize.h"
#include "quench/graph.h"

namespace quench {

// Dequantize -> Reshape -> ... becomes Reshape -> Dequantize -> ..., for what moves codes (MaxPool, Transpose, Pad,
// Concat of one type ...) and for Relu and Clip, which clamp them; and Dequantize -> Quantize of one type goes away.
// Under mlas only in front of a quantizer of the same type, as ONNX Runtime does it. How many were moved.
int move_codes(Graph& graph, Requantize rule);

}  // namespace quench

// Operators that move numbers move codes as well.
#pragma once

#include "quant/requantize.h"
#include "quench/graph.h"

namespace quench {

// What a quantizer behind it may be put in front of: the same codes, and the layer above becomes one of integers. These
// are the ones that ONNX Runtime 1.31 does it for (docs/runtimes.md).
bool lets_quantizers_up(const Node& node);

// Conv -> Reshape -> Quantize becomes Conv -> Quantize -> Reshape. How many were raised.
int raise_quantizers(Graph& graph);

// Dequantize -> Reshape -> ... becomes Reshape -> Dequantize -> ..., for what moves codes (MaxPool, Transpose, Pad,
// Concat of one type ...) and for Relu and Clip, which clamp them; and Dequantize -> Quantize of one type goes away.
// Under mlas only in front of a quantizer of the same type, as ONNX Runtime does it. How many were moved.
int move_codes(Graph& graph, Requantize rule);

}  // namespace quench

// Biases as ONNX Runtime has them.
#pragma once

#include "quench/graph.h"

namespace quench {

// ONNX Runtime puts float biases into int32 at s_x * s_w, of a Conv or Gemm with quantized input and weight whose
// result goes to a QuantizeLinear, straight or through a clamp; whether it then has an integer kernel for the layer or
// not (measured). Inserts quantizers for these biases; returns how many.
int round_biases(Graph& graph);

}  // namespace quench

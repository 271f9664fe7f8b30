// A layer between Dequantize and Quantize becomes one operator on codes.
#pragma once

#include <map>
#include <string>

#include "quant/requantize.h"
#include "quench/graph.h"

namespace quench {

struct FusedLayer {
  Node* node = nullptr;       // the operator on codes; null if there is none
  std::string layer, reason;  // else the float operator, and why it stays in float; "" if nothing computes the value
};

struct FuseOptions {
  Arithmetic arithmetic;
  bool round_biases = true;  // those in float too; else their layers stay in float. Never under mlas.
};

// Dequantize -> Conv -> Relu -> Quantize becomes a quench.QConv that gives what the Quantize gave. `int32_biases` by
// the constants that hold them in float.
FusedLayer fuse_layer(Graph& graph, Node& quantize, const FuseOptions& options,
                      const std::map<std::string, at::Tensor>& int32_biases);

}  // namespace quench

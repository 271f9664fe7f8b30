// Codes in a graph, with what they mean: what a quench.Dequantize reads or a quench.Quantize gives.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "quant/reference.h"
#include "quench/graph.h"

namespace quench {

struct Coded {
  Value *codes = nullptr, *scale = nullptr, *zero_point = nullptr;
  QType type;
};
std::optional<Coded> dequantized(const Value* value);  // what a value was dequantized from
Coded quantized_by(const Node& quantize);              // what a quench.Quantize gives

Node& add_dequantize(Graph& graph, Node& after, const std::string& name, const Coded& coded);

// A quantized graph with every quantizer as a quench.Quantize and a quench.Dequantize, weights as constants of codes.
struct CodeGraph {
  Graph graph;
  std::map<std::string, std::string> codes;        // what a quantizer gave -> its codes; of activations
  std::map<std::string, at::Tensor> int32_biases;  // by the constant that holds the rounded bias in float
};
// Codes are called as what the quantizer gave, or that with ".fq" where it is an output of the graph; those of a weight
// as the float weight.
CodeGraph to_codes(const Graph& quantized);

}  // namespace quench

// Functions of one tensor of codes, by table.
#pragma once

#include "quant/requantize.h"
#include "quench/graph.h"

namespace quench {

// Makes a quench.QTable of a quench.Quantize and all that lies between it and one tensor of codes of at most 8 bits, if
// that is a function of each element alone (Sigmoid, HardSwish, x * Sigmoid(x), another scale). Its entries are what
// those operators and the quantizer give for each code; of nothing but another type, what the rule gives.
bool use_table(Graph& graph, Node& quantize, const Arithmetic& arithmetic);

}  // namespace quench

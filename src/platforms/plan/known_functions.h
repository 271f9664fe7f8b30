// Functions that models spell out in several nodes, recognised so that a plan can name them. Nothing else depends on
// it: what is quantized follows from the rules of the platform alone.
//
// Functions of one tensor (GELU by erf, tanh or sigmoid, SiLU, LayerNorm, RMSNorm) are recognised by what they compute,
// on a few numbers, whatever operators they are made of (one_input_region.h); attention and rotary embeddings by their
// operators.
#pragma once

#include <map>
#include <string>

#include "quench/graph.h"

namespace quench {

// Which function a node is part of: "a GELU", "a rotary embedding". Nodes that are part of none are absent.
std::map<const Node*, std::string> known_functions(const Graph& graph);

}  // namespace quench

// Inputs and outputs of a deployed model in float32, for compilers that take no other floating-point type.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Drops the Casts at the border of a model that computes in float32 (graph/border.h); what is read and given keeps its
// name. The names of the inputs and outputs that were changed.
std::vector<std::string> use_float32_io(Graph& graph);

}  // namespace quench

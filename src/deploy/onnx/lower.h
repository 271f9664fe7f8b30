// Lowers a graph of the one dialect (opset 21 semantics) to what a file of another opset can express.
#pragma once

#include <cstdint>

#include "quench/graph.h"

namespace quench {

// Refuses what the opset cannot express, naming the operator, the node and the opset that can.
void lower_graph(Graph& graph, std::int64_t opset);

}  // namespace quench

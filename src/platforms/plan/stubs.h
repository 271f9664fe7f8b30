// QuantStub and DeQuantStub: where a user says that quantization begins and ends.
#pragma once

#include <set>

#include "quench/graph.h"

namespace quench {

// The nodes that do not lie between the two; empty if the graph has no stubs. A graph with DeQuantStubs alone is
// quantized from its inputs on. A node that reads both sides lies inside.
std::set<const Node*> nodes_outside_stubs(const Graph& graph);

}  // namespace quench

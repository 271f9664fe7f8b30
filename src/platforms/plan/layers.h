// Layers: a graph as platforms see it, chains such as Conv, BatchNormalization, Relu taken as one.
#pragma once

#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

// Each node is in exactly one layer. The user's chains of names come first, then the longest chain of operators.
std::vector<Layer> find_layers(const Graph& graph, const std::vector<OpChain>& groups, const QuantConfig& config);

// Constants, and what is computed from them alone.
std::set<const Value*> constant_values(const Graph& graph);

}  // namespace quench

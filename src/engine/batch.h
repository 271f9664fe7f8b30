// Whether a batch may be cut: every item is computed by itself, so that parts of a batch give parts of the result.
#pragma once

#include "quench/graph.h"

namespace quench {

// By the operators and by shape inference with a symbol as the first dim of every input.
bool is_per_item(const Graph& graph);

// The graph with the first dim of every input set to that of the given shapes, and all types inferred from there.
Graph with_input_dims(const Graph& graph, const std::vector<Dims>& inputs);

}  // namespace quench

// Inputs to run a graph on, where what it computes is compared with something.
#pragma once

#include <vector>

#include "quench/data.h"
#include "quench/executor.h"
#include "quench/graph.h"

namespace quench {

// A few batches that the graph can be run on: over the ranges of the quantizers that read its inputs, or normal; sizes
// that are not known are tried. Empty if no size works.
std::vector<NamedValues> runnable_inputs(const Graph& graph);

// The first items of the data, as one batch.
std::vector<NamedValues> first_inputs(const Graph& graph, const Dataset& data);

}  // namespace quench

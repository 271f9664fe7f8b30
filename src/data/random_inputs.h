// Seeded random values for every input of a graph: to run a model without data.
#pragma once

#include <cstdint>

#include "quench/executor.h"
#include "quench/graph.h"

namespace quench {

// Floats are standard normal, integers 0 or 1 (valid as indices and token ids), booleans either. Same seed,
// same values. Throws for an input whose dims are not all numbers, or that is not a tensor.
NamedValues random_inputs(const Graph& graph, std::uint64_t seed);

}  // namespace quench

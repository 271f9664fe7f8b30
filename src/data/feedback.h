// Recurrent state fed back: a data set whose states are known beforehand, so that every stage can feed it as any other.
#pragma once

#include <memory>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// Runs `data` (which has feedback) through the graph item by item, in order. The result gives each item the states that
// it met, as inputs like all others; `data` must outlive it. Throws for a name that is neither an input nor an output.
std::unique_ptr<Dataset> with_feedback(const Graph& graph, const Dataset& data, bool skip_broken);

}  // namespace quench

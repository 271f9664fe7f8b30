// How many items go through a network at once by default: as many as fit easily in memory. It depends only on the
// model and the shape of its items, so that what calibration finds does not depend on a batch size.
#pragma once

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// `graph` without quantizers. 1 to 32, a power of two; or the model's batch where that is fixed.
std::int64_t slice_size(const Graph& graph, const Dataset& data);

}  // namespace quench

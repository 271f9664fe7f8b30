// How many items go through a network at once where nobody says: as many as memory holds without notice. It follows
// from the model and the shape of its items alone, so that what calibration finds does not depend on a batch size.
#pragma once

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// `graph` without quantizers. 1 to 32, a power of two; what the model fixes where its batch is fixed.
std::int64_t slice_size(const Graph& graph, const Dataset& data);

}  // namespace quench

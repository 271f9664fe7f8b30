// The network as one unit, for methods that learn on all units together.
#pragma once

#include "quench/reconstruct.h"

namespace quench {

// All units as one, which gives what the network gives.
Unit joined_units(const std::vector<Unit>& units, const Graph& graph);

}  // namespace quench

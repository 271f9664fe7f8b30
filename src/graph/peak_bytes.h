// What a run of a graph holds at its peak.
#pragma once

#include <cstdint>

#include "quench/graph.h"

namespace quench {

struct PeakBytes {
  std::int64_t bytes = 0;  // constants not counted; every tensor freed after its last use
  int unknown = 0;         // values whose shape is not known beforehand: not counted
};

// From the types of the values: all inputs to all outputs.
PeakBytes peak_bytes(const Graph& graph);

}  // namespace quench

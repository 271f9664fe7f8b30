// What every exporter may count on.
#pragma once

#include "quench/graph.h"

namespace quench {

// A copy of a calibrated graph: batch norms folded, stubs gone, computed weights made constants, outputs under the
// names of the float model (what their quantizer reads is then "<output>_float"). Throws if a quantizer is off or
// was never calibrated, where there is none, and for opaque nodes, by name.
Graph ready_for_deployment(const Graph& quantized);

}  // namespace quench

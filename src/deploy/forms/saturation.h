#pragma once

#include "quench/graph.h"

namespace quench {

// Removes a Relu or Clip whose only reader is a quantizer that gives the same codes without it: where the clamp's ends
// are the quantizer's own, to the code. What is left is what runtimes fuse into the layer before. Returns how many.
int drop_saturated_clamps(Graph& graph);

}  // namespace quench

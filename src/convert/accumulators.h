// How far the int32 accumulators of a converted graph can reach.
#pragma once

#include "quench/convert.h"

namespace quench {

// Proves for every layer, from its own weights, that no input can overflow its accumulator; what cannot be proved is a
// warning that names the layer.
void check_accumulators(const Graph& converted, ConvertRecord& record);

}  // namespace quench

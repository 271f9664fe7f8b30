// Biases that a target adds to an int32 accumulator must fit it: docs/numerics.md 11.
#pragma once

#include <string>
#include <vector>

#include "quench/quantized_model.h"

namespace quench {

// Raises the scales of weights whose layer's bias would need more than 2^30 steps of s_x * s_w, in the constants of
// the calibrated graph. One line per weight that changed, with its channels.
std::vector<std::string> fit_biases(QuantizedModel& model);

}  // namespace quench

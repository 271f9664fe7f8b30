// Operators whose range is known beforehand: Sigmoid, HardSigmoid, Softmax and Tanh.
#pragma once

#include "quench/platform.h"

namespace quench {

const std::set<std::string>& fixed_range_ops();

// Gives what those operators write torch's fixed parameters (numerics 2) in place of an observed range. For uint8
// affine schemes only: others are observed as usual.
void use_fixed_ranges(PlanBuilder& plan);

}  // namespace quench

// Operators whose range is known beforehand: Sigmoid, HardSigmoid, Softmax and Tanh.
#pragma once

#include "quench/plan_builder.h"

namespace quench {

const std::set<std::string>& fixed_range_ops();

// Gives the outputs of those operators torch's fixed parameters (docs/numerics.md 2), not an observed range, with as
// many levels as the scheme has. For unsigned affine schemes per tensor only, and where the user chose no other
// observer.
void use_fixed_ranges(PlanBuilder& plan);

}  // namespace quench

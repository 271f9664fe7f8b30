// Which symmetric activations of openvino are unsigned, 0..255: docs/platforms.md 3.
#pragma once

#include "quench/plan_builder.h"

namespace quench {

// By non_negative_values(); under parity as the reference does it: only a Relu is known not to be negative (D9).
void choose_signs(PlanBuilder& plan);

}  // namespace quench

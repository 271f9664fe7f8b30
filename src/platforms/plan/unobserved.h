// The observers "noop" and "placeholder" as a plan understands them: what has one stays float.
#pragma once

#include <string>

#include "platforms/plan/plan_state.h"

namespace quench {

bool leaves_float(const std::string& observer);

// Takes out what has such an observer, and the biases of weights that had one.
void leave_unobserved(PlanBuilder& plan, PlanState& state);

}  // namespace quench

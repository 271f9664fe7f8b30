// The observer "reuse_input" as a plan understands it.
#pragma once

#include "platforms/plan/plan_state.h"

namespace quench {

// Entries with that observer share the scale of what their layer reads, with all of that value's quantizer. Throws
// where there is no such value.
void reuse_inputs(PlanBuilder& plan, PlanState& state);

}  // namespace quench

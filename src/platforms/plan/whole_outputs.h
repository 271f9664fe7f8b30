// Outputs of a model whose tensors are otherwise clipped where that costs least.
#pragma once

#include "quench/plan_builder.h"

namespace quench {

// What only pools and reshapes separate from an output of the model keeps its whole range: the largest logits are the
// answer, and must not be cut off. Where the user named no observer.
void keep_outputs_whole(PlanBuilder& plan);

}  // namespace quench

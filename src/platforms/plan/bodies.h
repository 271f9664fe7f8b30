// Layers that a plan does not reach: those inside the bodies of If, Loop and Scan.
#pragma once

#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

// One for each layer with a weight in a body, at any depth, named as "node/layer": no quantizer is placed there.
std::vector<PlanSkip> layers_in_bodies(const Graph& graph);

}  // namespace quench

// Quantizers that a model came with: read from Q/DQ nodes, or from those of another tool.
#pragma once

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

// A Q/DQ file read back: what its nodes cannot express (fewer bits than the type has, narrow weight ranges, the name
// of an output in front of its quantizer) is taken from the plan that the file carries. The numbers stay those of the
// nodes; where a scheme of the plan contradicts them, the nodes win.
void restore_schemes(Graph& graph, const QuantPlan& plan);

// The plan that the quantizers of a graph follow: their own schemes, without observers, since they keep the scales that
// they came with. What `written` says besides (platform, rules, what stays float) is kept.
QuantPlan plan_of_quantizers(const Graph& graph, QuantPlan written = {});

// Where a quantizer follows an output y, it is the quantizer's result that must be called y: what it reads becomes
// "y_float". restore_schemes() finds the names again.
void give_outputs_their_names(Graph& graph);

}  // namespace quench

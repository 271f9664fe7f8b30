#pragma once

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

// Metadata of a deployed file: "quench.float_output:y" = "y_float", the name of what the quantizer of output y reads.
inline const std::string kFloatOutputKey = "quench.float_output:";

// A Q/DQ file read back: what its nodes cannot express (fewer bits than the type has, narrow weight ranges, the name
// of an output in front of its quantizer) is taken from the plan that the file carries. The numbers stay those of the
// nodes; where a scheme of the plan contradicts them, the nodes win.
void restore_schemes(Graph& graph, const QuantPlan& plan);

}  // namespace quench

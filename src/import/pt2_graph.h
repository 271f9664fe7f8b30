// The program of a torch.export archive -> Graph: every call by the table of aten.h, sizes kept symbolic.
#pragma once

#include "import/pt2_program.h"
#include "import/pt2_weights.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace quench {

Graph graph_of_pt2(const Pt2Program& program, Pt2Weights& weights, const ImportOptions& options);

}  // namespace quench

// The program of a torch.export archive -> Graph: every call by the table of aten.h, sizes kept symbolic.
#pragma once

#include <map>
#include <string>

#include "import/pt2/program.h"
#include "import/pt2/weights.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace quench {

// `names`, where given, receives the name of the value that each tensor of the program became; of one that is written
// to in place, what it is in the end.
Graph graph_of_pt2(const Pt2Program& program, Pt2Weights& weights, const ImportOptions& options,
                   std::map<std::string, std::string>* names = nullptr);

}  // namespace quench

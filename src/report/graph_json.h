// A network as the HTML report's page draws it: nodes and what they read; quantizers are marks on what is read.
#pragma once

#include "quench/graph.h"
#include "report/json.h"

namespace quench {

Json graph_json(const Graph& graph);

}  // namespace quench

// Brings a graph that was built from a file of some opset to the one dialect (opset 21 semantics).
// Operators that are newer than 21, or whose newer version only adds to the older, stay as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "quench/graph.h"

namespace quench {

// `opsets` is what the file says for each domain ("" is ONNX's own). Bodies of If, Loop and Scan too.
// Types are inferred on the way, for operators that have an entry: rules ask for ranks and dtypes.
void upgrade_graph(Graph& graph, const std::map<std::string, std::int64_t>& opsets);

}  // namespace quench

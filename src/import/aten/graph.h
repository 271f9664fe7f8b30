// What importers that use the table of aten.h have in common.
#pragma once

#include <string>

#include "quench/graph.h"

namespace quench {

// "aten::relu_" -> "relu"; other namespaces are kept.
std::string plain_kind(const std::string& kind);
bool is_in_place_kind(const std::string& kind);  // "aten::relu_"
// The results of "aten::view" and the like share the memory of the first input, or may (reshape, contiguous).
bool is_view_kind(const std::string& kind);

// Makes `value` a further output of the graph; an Identity stands before one that is an input, a constant
// or an output already.
void add_graph_output(Graph& graph, Value& value);

// Nodes and constants that no output needs: a transposed weight that became transB, an unused buffer.
void remove_unused(Graph& graph);

}  // namespace quench

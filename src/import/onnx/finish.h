// The last steps of an import: operators known, parameters marked, types inferred and compared with what
// the file says about them.
#pragma once

#include <map>
#include <string>

#include "quench/graph.h"
#include "quench/import.h"

namespace quench {

using DeclaredTypes = std::map<std::string, TypeInfo>;  // of nodes' outputs, by name

// Whether the node's operator has an entry, and those of all nodes in its bodies: only then can its
// shape function be called.
bool is_supported(const Node& node);

DeclaredTypes declared_types(const Graph& graph);
// For a graph that knows its parameters: operators known, types inferred and compared.
void check_and_infer(Graph& graph, const DeclaredTypes& declared, const ImportOptions& options);
void finish_import(Graph& graph, const DeclaredTypes& declared, const ImportOptions& options);

}  // namespace quench

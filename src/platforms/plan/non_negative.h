#pragma once

#include <set>

#include "quench/graph.h"

namespace quench {

// Which values can never be below zero: by what the operators promise, followed through the graph.
std::set<const Value*> non_negative_values(const Graph& graph);

}  // namespace quench

#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"

namespace quench {

// Puts a quantizer after each value of the plan, both flags off; those that share have the same constants.
// `weighted`: operators that read a quantized weight as such; other readers of the constant go
// on reading it in float. Throws if a value does not exist, naming the entry, and leaves the graph as it was.
void insert_plan(Graph& graph, const QuantPlan& plan, const std::vector<std::string>& weighted);

}  // namespace quench

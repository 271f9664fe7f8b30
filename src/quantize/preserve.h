// What a job wants kept of the float model besides its graph: named texts of its metadata (MQBench's `preserve_attr`).
#pragma once

#include "quench/config.h"
#include "quench/graph.h"

namespace quench {

// Sees to it that the graph's metadata has all that the config wants preserved: where the model has no such text, the
// config's `metadata` may give it. Graphs keep their metadata through every stage, so converted and deployed files have
// it too. Throws for a name that neither has.
void preserve_metadata(Graph& graph, const JobConfig& config);

}  // namespace quench

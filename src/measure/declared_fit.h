// What the declared type of an output says against measuring it, before anything is run.
#pragma once

#include <cstdint>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// Throws if `rows` items at a time would be told apart by an axis that is not theirs: the output is declared [10, N],
// where N is the batch, and 10 items are run. What the type leaves open is decided by sizes, when there are outputs.
void check_item_axis(const Graph& graph, const Value& output, std::int64_t rows);

// Throws for a label that is none of the output's classes, where the data knows its labels.
void check_labels(const Graph& graph, const Value& output, const Dataset& data);

}  // namespace quench

// What the corrections feed: batches in which every item counts once, whatever batch size the model fixes.
#pragma once

#include <vector>

#include "data/feed.h"

namespace quench {

struct CountedBatch {
  NamedValues inputs;   // of the graph
  double weight = 1.0;  // of every sum over what the network makes of it
};

// `fed` as the graph takes it. A last batch that had to be padded with copies of its last item comes with a
// second one, of that item alone, whose negative weight takes the copies out of all sums again: that holds wherever the
// network puts its items, as long as it computes each by itself.
std::vector<CountedBatch> counted(const Graph& graph, const Fed& fed);

}  // namespace quench

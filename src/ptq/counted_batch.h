// What the corrections feed: batches in which every item counts once, whatever batch size the model fixes.
#pragma once

#include <vector>

#include "data/feed.h"

namespace quench {

// How often something counts in a sum: `times` / `of`.
struct Share {
  std::int64_t times = 1, of = 1;
  double weight() const { return static_cast<double>(times) / static_cast<double>(of); }
};

struct CountedBatch {
  NamedValues inputs;  // of the graph
  Share share;         // of every sum over what the network makes of it
};

// `fed` as the graph takes it. A last batch that had to be padded with copies of its last item comes with a
// second one of the same size, of copies alone, whose negative share takes the copies out of all sums again: that holds
// wherever the network puts its items, as long as it computes each by itself.
std::vector<CountedBatch> counted(const Graph& graph, const Fed& fed);

}  // namespace quench

// The range of each channel of some values, over data.
#pragma once

#include <map>
#include <string>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

struct ChannelRangeOptions {
  std::map<std::string, int> axes;  // by the name of the value: where its channels lie
  std::int64_t batch = 1;
  std::int64_t items = 0;  // at most; 0: all
};

// The least and the greatest number of each channel, [2, channels] in float64, by the name of the value.
std::map<std::string, at::Tensor> channel_ranges(const Graph& graph, const Dataset& data,
                                                 const ChannelRangeOptions& options);

}  // namespace quench

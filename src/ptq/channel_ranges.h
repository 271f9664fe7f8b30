// The range of each channel of some values, over data.
#pragma once

#include <map>
#include <string>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// max|x| by channel in float64, by the name of the value; `axes` says where the channels of each lie.
std::map<std::string, at::Tensor> channel_ranges(const Graph& graph, const std::map<std::string, int>& axes,
                                                 const Dataset& data, std::int64_t batch);

}  // namespace quench

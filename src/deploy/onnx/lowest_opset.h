#pragma once

#include "quench/graph.h"

namespace quench {

// The lowest opset, from `first` on, that can express the whole graph; the error of `asked` if that is not 0 and
// cannot.
std::int64_t lowest_opset(const Graph& graph, std::int64_t first, std::int64_t asked = 0);

}  // namespace quench

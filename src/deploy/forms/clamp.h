#pragma once

#include <limits>

#include "quench/graph.h"

namespace quench {

// What a Relu or Clip cuts off. Others, and ends that are not constants, are not known.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  bool known = true;
};
Clamp clamp_of(const Node& node);

}  // namespace quench

// Relu and Clip as numbers: what stages ask that fuse a clamp, or leave it to the saturation of a quantizer.
#pragma once

#include <limits>

#include "quench/graph.h"

namespace quench {

bool is_clamp(const Node& node);  // Relu or Clip, whatever its bounds

// What such a node cuts off. A bound that is absent is infinite; so is one that is not a constant number, and then, or
// for any other operator, the clamp is not known.
struct Clamp {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool known = true;
};
Clamp clamp_of(const Node& node);

bool is_relu6(const Node& node);  // a Clip to 0 ... 6

}  // namespace quench

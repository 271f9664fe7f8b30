// What a target can run, for Platform::refuses.
#pragma once

#include <set>

#include "quench/platform.h"

namespace quench {

struct Limits {
  std::set<int> weight_bits = {8}, activation_bits = {8};
  bool affine = true;           // zero points other than 0
  bool unsigned_codes = true;   // a target without them has int8 only
  bool channel_weights = true;  // one scale per output channel; activations have one scale everywhere
  bool any_scale = true;        // else powers of two only
};

// "" or what is beyond the limits: "4-bit weights (8 bits only)". Biases are limited as weights are.
std::string beyond(const PlanEntry& entry, const Limits& limits);

}  // namespace quench

// The traits of operators that are plain but for inputs they read as numbers.
#pragma once

#include <utility>
#include <vector>

#include "quench/op.h"

namespace quench {

inline OpTraits reads_on_host(std::vector<int> slots) {
  OpTraits traits;
  traits.host_slots = std::move(slots);
  return traits;
}

}  // namespace quench

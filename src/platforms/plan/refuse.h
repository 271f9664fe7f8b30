// What integer targets cannot run, in the words that a Platform's `refuses` returns.
#pragma once

#include "quench/platform.h"

namespace quench {

// "" for integers of at most 8 bits with that sign; else "signed activations (it takes unsigned ones)" and the like.
std::string refuse_unless_8_bit(const PlanEntry& entry, bool is_signed);
std::string refuse_unless_per_tensor(const PlanEntry& entry);
std::string refuse_unless_symmetric(const PlanEntry& entry);

}  // namespace quench

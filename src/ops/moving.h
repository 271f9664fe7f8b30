// What operators have in common that only move, repeat or select elements of their first input.
#pragma once

#include <vector>

#include "quench/op.h"

namespace quench {

OpTraits moving(std::vector<int> host_slots = {});

}  // namespace quench

#pragma once

#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench {

// What a caller gives must fit what the graph declares: element type, rank and the dims that are numbers.
void check_input(const Value& declared, const RtValue& given);

}  // namespace quench

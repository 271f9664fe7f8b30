// A plan as JSON, and in a few lines.
#pragma once

#include <string>

#include "quench/plan.h"
#include "report/json.h"

namespace quench {

Json json_of(const QuantPlan& plan);

// How many quantizers of which scheme, how many tensors stay float: one line per kind.
std::string plan_summary(const QuantPlan& plan);

}  // namespace quench

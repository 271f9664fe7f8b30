// What a user took out of a plan: it is float from then on, and the plan says so.
#include <algorithm>

#include "quench/error.h"
#include "quench/platform.h"

namespace quench {

void list_removed_entries(const Graph& graph, const QuantConfig& config, QuantPlan& plan) {
  std::erase_if(plan.skipped, [&](const PlanSkip& skip) { return plan.find(skip.value) != nullptr; });
  const auto is_listed = [&](const std::string& value) {
    return plan.find(value) || std::any_of(plan.skipped.begin(), plan.skipped.end(),
                                           [&](const PlanSkip& skip) { return skip.value == value; });
  };
  for (const PlanEntry& entry : make_plan(graph, config).entries)
    if (!is_listed(entry.value))
      plan.skipped.push_back({entry.value, concat("taken out of the plan (", entry.rule, ")")});
}

}  // namespace quench

#include "quench/config.h"
#include "quench/error.h"
#include "quench/platform.h"

namespace quench {

QuantPlan make_plan(const Graph& graph, const JobConfig& job) {
  try {
    return make_plan(graph, job.quant);
  } catch (Error& error) {
    for (const auto& [rule, place] : job.rule_places)
      if (error.message().starts_with(concat("the rule ", rule, " "))) error.add_context(place);
    throw;
  }
}

}  // namespace quench

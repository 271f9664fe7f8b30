#include "platforms/plan/whole_outputs.h"

#include "graph/border.h"
#include "quench/platform.h"

namespace quench {

void keep_outputs_whole(PlanBuilder& plan) {
  static const std::set<std::string> neutral = {"GlobalAveragePool", "AveragePool", "ReduceMean", "Flatten", "Reshape",
                                                "Squeeze",           "Softmax",     "LogSoftmax", "Identity"};
  if (plan.config().activation.observer) return;
  const std::optional<std::string>& usual = find_platform(plan.config().platform).activation.observer;
  std::set<const Value*> near;
  for (const Value* output : plan.graph().outputs()) near.insert(&source_of_output(*output));
  const std::vector<Layer>& layers = plan.layers();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    if (neutral.contains(layer->op()) && near.contains(&layer->output()))
      for (const Value* value : plan.activations_of(*layer))
        if (value->uses().size() == 1) near.insert(value);
  for (const Value* value : near) {
    PlanEntry* entry = plan.find(*value);
    if (!entry || usual != entry->observer || plan.has_user_rule(*entry)) continue;  // or its range is known
    entry->observer = "min_max";
    entry->observer_options = {};
    entry->rule += "; close to an output: nothing is cut off";
  }
}

}  // namespace quench

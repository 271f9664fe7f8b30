#include "platforms/targets/openvino_signs.h"

#include "platforms/plan/non_negative.h"

#include <algorithm>

namespace quench {
namespace {

using Values = std::set<const Value*>;

// What a layer reads, one step up.
Values above(const PlanBuilder& plan, const Values& values) {
  Values result;
  for (const Value* value : values)
    if (const Layer* producer = plan.producer_of(*value))
      for (const Value* input : plan.activations_of(*producer)) result.insert(input);
  return result;
}

// The first level upstream that holds quantizers decides; all of them must be unsigned.
bool is_unsigned_above(PlanBuilder& plan, const Value& value, const Values& found) {
  for (Values level = above(plan, {&value}); !level.empty(); level = above(plan, level)) {
    Values quantized;
    for (const Value* one : level)
      if (plan.find(*one)) quantized.insert(one);
    if (!quantized.empty()) return std::includes(found.begin(), found.end(), quantized.begin(), quantized.end());
  }
  return false;
}

Values reference_rule(PlanBuilder& plan) {
  static const std::set<std::string> passing = {"MaxPool", "AveragePool", "GlobalAveragePool", "Resize",
                                                "Add",     "Flatten",     "ReduceMean",        "ReduceSum"};
  Values found;
  for (const Layer& layer : plan.layers()) {  // in order of the graph: what is upstream is decided
    const Value& value = layer.output();
    if (!plan.find(value)) continue;
    if (layer.last().op() == "Relu" || (passing.contains(layer.op()) && is_unsigned_above(plan, value, found)))
      found.insert(&value);
  }
  return found;
}

}  // namespace

void choose_signs(PlanBuilder& plan) {
  if (plan.config().activation.is_signed) return;  // the user has decided
  const Values found = plan.parity() ? reference_rule(plan) : non_negative_values(plan.graph());
  for (const Value* value : found) {
    PlanEntry* entry = plan.find(*value);
    if (!entry || entry->role != Role::kActivation || !entry->scheme.is_int() || !entry->scheme.symmetric()) continue;
    if (plan.asked_of(*entry).is_signed) continue;
    QSchemeSpec spec = entry->scheme.spec();
    spec.is_signed = false;
    spec.narrow = false;
    entry->scheme = QScheme(spec);
  }
}

}  // namespace quench

#include "platforms/plan/reuse_input.h"

#include "quench/error.h"

namespace quench {
namespace {

// The entry whose scale the codes of `value` have: layers between that only move codes have none.
PlanEntry* entry_behind(PlanBuilder& plan, const Value& value) {
  if (PlanEntry* own = plan.find(value)) return own;
  const Layer* producer = plan.producer_of(value);
  if (!producer || plan.has_weight(*producer)) return nullptr;
  const std::vector<const Value*> inputs = plan.activations_of(*producer);
  return inputs.empty() ? nullptr : entry_behind(plan, *inputs[0]);
}

void reuse_input(PlanBuilder& plan, PlanEntry& entry) {
  QUENCH_CHECK(entry.role == Role::kActivation, "observer 'reuse_input': a ", name_of(entry.role),
               " has no input whose scale it could take; use another observer");
  const Layer* layer = plan.producer_of(plan.graph().value(entry.value));
  const std::vector<const Value*> inputs = layer ? plan.activations_of(*layer) : std::vector<const Value*>();
  const PlanEntry* input = inputs.empty() ? nullptr : entry_behind(plan, *inputs[0]);
  QUENCH_CHECK(input, "observer 'reuse_input': nothing that the layer reads is quantized; use another observer");
  QuantizerSpec& quantizer = entry;
  quantizer = *input;
  entry.shared_with = input->shared_with.empty() ? input->value : input->shared_with;
  entry.rule += "; has the scale of its input";
}

}  // namespace

void reuse_inputs(PlanBuilder& plan, PlanState& state) {
  // In order of the graph: an input may itself reuse that of its layer.
  for (const auto& node : plan.graph().nodes())
    for (const Value* value : node->outputs()) {
      PlanEntry* entry = value ? plan.find(*value) : nullptr;
      if (!entry || entry->observer != "reuse_input") continue;
      with_context([&] { return concat("for the activation '", entry->value, "' of ", node->where()); },
                   [&] { reuse_input(plan, *entry); });
      state.requests.at(value).asked.observer.reset();  // the wish is met
    }
}

}  // namespace quench

// Checks a plan that a user wrote or changed against the graph and the platform before anything is inserted.
#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform.h"

namespace quench {
namespace {

// The layer that reads the value as its weight or bias, or makes it, or reads it first.
const Node* layer_of(const Value& value, Role role) {
  for (const Value::Use& use : value.uses()) {
    const OpTraits& traits = entry_of(*use.node).traits;
    if (role == Role::kWeight && use.slot == traits.weight_slot) return use.node;
    if (role == Role::kBias && use.slot == traits.bias_slot) return use.node;
  }
  if (role == Role::kActivation && value.producer()) return value.producer();
  return value.uses().empty() ? nullptr : value.uses()[0].node;
}

bool may_be_float(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kUndefined;
}

void check_entry(const Graph& graph, const Platform& platform, const QuantPlan& plan, const PlanEntry& entry) {
  const Value& value = graph.value(entry.value);
  QUENCH_CHECK(may_be_float(value.dtype()), "it holds ", name_of(value.dtype()), ", not floats");
  if (!entry.derived_from.empty()) return;
  const Node* layer = layer_of(value, entry.role);
  QUENCH_CHECK(layer, "nothing makes or reads it");
  if (entry.observer != kNoObserver) make_observer(entry);
  make_fake_quant(fake_quant_spec(entry, plan.by));
  const std::string cannot = platform.refuses ? platform.refuses(entry, layer) : "";
  QUENCH_CHECK(cannot.empty(), "platform '", plan.platform, "' cannot run ", cannot, ": ", layer->where());
}

}  // namespace

void check_plan(const Graph& graph, const QuantPlan& plan) {
  const Platform& platform = find_platform(plan.platform);
  for (const PlanEntry& entry : plan.entries)
    with_context([&] { return concat("in the plan's entry of '", entry.value, "'"); },
                 [&] { check_entry(graph, platform, plan, entry); });
}

}  // namespace quench

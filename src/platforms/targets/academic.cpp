// academic: research settings. No fusion, schemes of the user's own, first and last layer in 8 bits.
// docs/platforms.md 3.
#include <algorithm>

#include "graph/border.h"
#include "platforms/plan/match.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) { annotate_inputs(plan, {.ops = {"Conv", "Gemm"}}); }

bool is_first_or_last(const PlanBuilder& plan, const Layer& layer) {
  if (!plan.has_weight(layer)) return false;
  const std::vector<const Value*> inputs = plan.activations_of(layer);
  return is_model_output(layer.output()) ||
         std::any_of(inputs.begin(), inputs.end(), [](const Value* value) { return is_model_input(*value); });
}

// A rule that names the bits of this very layer is the user's last word.
bool has_own_bits(const QuantConfig& config, const Layer& layer, Role role) {
  return std::any_of(config.layers.begin(), config.layers.end(), [&](const LayerRule& rule) {
    return (role == Role::kWeight ? rule.weight : rule.activation).bits && matches(layer, rule);
  });
}

void widen(PlanBuilder& plan, const Layer& layer, PlanEntry* entry) {
  if (!entry || has_own_bits(plan.config(), layer, entry->role)) return;
  QSchemeSpec spec = entry->scheme.spec();
  if (spec.format != Format::kInt) return;
  spec.bits = 8;
  spec.narrow = false;
  if (!spec.symmetric) spec.is_signed = false;
  entry->scheme = QScheme(spec);
  entry->rule += " [first or last layer: 8 bits]";
}

void refine(PlanBuilder& plan) {
  for (const Layer& layer : plan.layers()) {
    if (!is_first_or_last(plan, layer)) continue;
    widen(plan, layer, plan.find(*layer.head().input(1)));
    for (const Value* value : plan.activations_of(layer)) widen(plan, layer, plan.find(*value));
  }
}

Platform academic() {
  Platform platform;
  platform.aliases = {"Academic"};
  platform.user_schemes = true;
  platform.weighted = standard_weighted();
  platform.product = "onnx";
  platform.annotate = annotate;
  platform.refine = refine;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("academic", academic, "research: the user's schemes, inputs of Conv and Gemm, no fusion")

}  // namespace quench

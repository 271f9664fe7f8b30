// tengine_u8: OPEN AI LAB Tengine in uint8. docs/platforms.md 1 and 3, "inputs + outputs".
#include "graph/border.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// No merges; a graph output is quantized whatever makes it.
void annotate(PlanBuilder& plan) {
  FamilyRule rule = {.ops = inputs_family_ops(), .merges = {}, .passed = {"Flatten"}};
  rule.ops.insert({"Concat", "HardSwish", "Sigmoid"});
  annotate_inputs(plan, rule);
  annotate_outputs(plan, rule);
  for (const Value* output : plan.graph().outputs())
    if (const Value& source = source_of_output(*output); const Layer* producer = plan.producer_of(source))
      plan.quantize_output(*producer, source, "graph output");
}

std::string refuses(const PlanEntry& entry, const Node*) { return beyond(entry, {.channel_weights = false}); }

Platform tengine_u8() {
  Platform platform;
  platform.aliases = {"Tengine_u8"};
  platform.weight.set_scheme(QScheme::parse("uint8 affine tensor"));
  platform.activation.set_scheme(QScheme::parse("uint8 affine tensor"));
  observe_least_error(platform, observed_by("ema_min_max"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.requantize = "away";
  platform.product = "tengine";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("tengine_u8", tengine_u8, "Tengine; uint8 affine per tensor, inputs and outputs of layers")

}  // namespace quench

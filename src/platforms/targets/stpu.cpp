// stpu: SenseTime STPU, a file of ranges. docs/platforms.md 1, 3 and 5.8.

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry,
                {.affine = false, .weights = Signs::kSigned, .activations = Signs::kSigned, .channel_weights = false});
}

Platform stpu() {
  Platform platform;
  platform.aliases = {"STPU"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric tensor narrow"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor narrow"));
  observe_least_error(platform, observed_by("ema_min_max"));
  platform.weight.fake_quant = platform.activation.fake_quant = "fixed";
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.product = "stpu";
  platform.annotate = annotate_inputs_and_outputs;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("stpu", stpu, "SenseTime STPU; int8 symmetric per tensor, inputs and outputs of layers")

}  // namespace quench

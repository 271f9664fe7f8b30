// snpe: Qualcomm SNPE, a file of encodings. docs/platforms.md 1 and 3, "inputs + outputs". Its encodings have one range
// per tensor.

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.activation_bits = {8, 16}, .channel_weights = false});
}

Platform snpe() {
  Platform platform;
  platform.aliases = {"SNPE"};
  platform.weight.set_scheme(QScheme::parse("uint8 affine tensor"));
  platform.activation.set_scheme(QScheme::parse("uint8 affine tensor"));
  observe_least_error(platform, observed_by("ema_min_max"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.requantize = "half_up";
  platform.product = "snpe";
  platform.annotate = annotate_inputs_and_outputs;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("snpe", snpe, "Qualcomm SNPE; uint8 affine, inputs and outputs of layers")

}  // namespace quench

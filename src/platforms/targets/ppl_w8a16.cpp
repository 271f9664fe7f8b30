// ppl_w8a16: SenseTime PPL with 16-bit activations. docs/platforms.md 1 and 3, "inputs + outputs".

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node*) { return beyond(entry, {.activation_bits = {8, 16}}); }

Platform ppl_w8a16() {
  Platform platform;
  platform.aliases = {"PPLW8A16", "ppl"};
  platform.weight.set_scheme(QScheme::parse("uint8 affine tensor"));
  platform.activation.set_scheme(QScheme::parse("uint16 affine tensor"));
  observe_least_error(platform, observed_by("ema_min_max"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.product = "ppl";
  platform.annotate = annotate_inputs_and_outputs;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("ppl_w8a16", ppl_w8a16,
                         "SenseTime PPL; 8-bit weights, 16-bit activations, affine, inputs and outputs of layers")

}  // namespace quench

// mmrazor_academic: mmrazor's AcademicQuantizer: convolutions and linear layers, schemes by the user, one per layer if
// need be. docs/platforms.md 6. No target, hence no product.

#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  static const PatternRules rules = {{"Conv", "ConvTranspose", "Gemm"}, {}, false};
  annotate_patterns(plan, rules);
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.weight_bits = up_to_bits(8),
                        .activation_bits = up_to_bits(8),
                        .weights = Signs::kSigned,
                        .activations = Signs::kUnsigned,
                        .group_weights = true,
                        .split_activations = true});
}

Platform mmrazor_academic() {
  Platform platform = pattern_platform("uint8 affine tensor", "int8 symmetric channel:0");
  platform.aliases = {"AcademicQuantizer"};
  platform.user_schemes = true;
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("mmrazor_academic", mmrazor_academic, "mmrazor's AcademicQuantizer; the user's schemes")

}  // namespace quench

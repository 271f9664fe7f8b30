// nnie: HiSilicon NNIE, logarithmic codes. Its arithmetic is fixed: only observers may be changed. docs/platforms.md 1.

#include "quench/platform_parts.h"

namespace quench {
namespace {

Platform nnie() {
  Platform platform;
  platform.aliases = {"NNIE"};
  platform.weight.set_scheme(QScheme::parse("log8"));
  platform.activation.set_scheme(QScheme::parse("log8"));
  platform.reference = observed_by("ema_min_max");
  platform.weight.fake_quant = platform.activation.fake_quant = "nnie";
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.fixed_schemes = true;
  platform.product = "nnie";
  platform.annotate = annotate_inputs;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("nnie", nnie, "HiSilicon NNIE; logarithmic codes, inputs of layers")

}  // namespace quench

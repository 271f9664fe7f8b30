// ppl_cuda: SenseTime PPL on CUDA. docs/platforms.md 1 and 3, "inputs + outputs".

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node*) { return beyond(entry, {}); }

Platform ppl_cuda() {
  Platform platform;
  platform.aliases = {"PPLCUDA"};
  platform.weight.set_scheme(QScheme::parse("uint8 affine channel:0"));
  platform.activation.set_scheme(QScheme::parse("uint8 affine tensor"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.product = "ppl_cuda";
  platform.annotate = annotate_inputs_and_outputs;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("ppl_cuda", ppl_cuda,
                         "SenseTime PPL on CUDA; uint8 affine, weights per channel, inputs and outputs of layers")

}  // namespace quench

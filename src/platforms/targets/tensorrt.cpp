// tensorrt: NVIDIA TensorRT with range files, as MQBench's BackendType.Tensorrt. docs/platforms.md 1 and 3, "inputs".

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.affine = false, .weights = Signs::kSigned, .activations = Signs::kSigned});
}

Platform tensorrt() {
  Platform platform;
  platform.aliases = {"Tensorrt"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric channel:0 narrow"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor narrow"));
  observe_least_error(platform, observed_by("ema_min_max"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.options = {{"fuse_residual_add", 0.0, "leaves the operand of an Add that comes from a plain Conv or Gemm"}};
  platform.product = "tensorrt";
  platform.annotate = annotate_inputs;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("tensorrt", tensorrt, "TensorRT with a file of ranges; int8 symmetric, inputs of layers")

}  // namespace quench

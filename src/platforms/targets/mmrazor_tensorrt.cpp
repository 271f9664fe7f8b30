// mmrazor_tensorrt: mmrazor's TensorRTQuantizer: around convolutions and linear layers only. docs/platforms.md 6.

#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  static const PatternRules rules = {{"Conv", "ConvTranspose", "Gemm"}, {}, true};
  annotate_patterns(plan, rules);
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.weight_bits = up_to_bits(8),
                        .activation_bits = up_to_bits(8),
                        .affine = false,  // TensorRT has no zero points
                        .weights = Signs::kSigned,
                        .activations = Signs::kSigned,
                        .group_weights = true});
}

Platform mmrazor_tensorrt() {
  Platform platform = pattern_platform("int8 symmetric tensor", "int8 symmetric channel:0 narrow");
  platform.aliases = {"TensorRTQuantizer"};
  correct_by_default(platform);
  platform.product = "qdq_onnx";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("mmrazor_tensorrt", mmrazor_tensorrt, "mmrazor's TensorRTQuantizer; int8 symmetric")

}  // namespace quench

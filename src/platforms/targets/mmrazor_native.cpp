// mmrazor_native: mmrazor's TorchNativeQuantizer: torch's own integer operators. docs/platforms.md 6. It ships no
// schemes; these are those of its other quantizers.
#include "platforms/plan/fixed_range.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  static const PatternRules rules = [] {
    PatternRules all;
    all.own = {"Conv",
               "ConvTranspose",
               "Gemm",
               "MatMul",
               "Add",
               "Mul",
               "Concat",
               "BatchNormalization",
               "Elu",
               "HardSwish",
               "PRelu",
               "LeakyRelu",
               "LayerNormalization",
               "GroupNormalization",
               "InstanceNormalization"};
    all.own.insert(fixed_range_ops().begin(), fixed_range_ops().end());
    all.shares = sharing_ops();
    return all;
  }();
  annotate_patterns(plan, rules);
}

void refine(PlanBuilder& plan) {
  mend_unsigned(plan);
  use_fixed_ranges(plan);
}

Platform mmrazor_native() {
  Platform platform = pattern_platform("uint8 affine tensor", "int8 symmetric channel:0 narrow");
  platform.aliases = {"TorchNativeQuantizer", "NativeQuantizer"};
  platform.requantize = "fbgemm";
  correct_by_default(platform);
  platform.product = "onnx";
  platform.annotate = annotate;
  platform.refine = refine;
  platform.refuses = refuses_all_but_quint8;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("mmrazor_native", mmrazor_native, "mmrazor's TorchNativeQuantizer; uint8 affine")

}  // namespace quench

// mmrazor_tensorrt: mmrazor's TensorRTQuantizer: around convolutions and linear layers only. docs/platforms.md 6.
#include "platforms/families/pattern_family.h"
#include "platforms/plan/refuse.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  static const PatternRules rules = {{"Conv", "ConvTranspose", "Gemm"}, {}, true};
  annotate_patterns(plan, rules);
}

std::string refuse(const PlanEntry& entry, const Node*) {
  std::string cannot = refuse_unless_8_bit(entry, true);
  if (cannot.empty()) cannot = refuse_unless_symmetric(entry);  // TensorRT has no zero points
  return cannot.empty() && entry.role == Role::kActivation ? refuse_unless_per_tensor(entry) : cannot;
}

Platform mmrazor_tensorrt() {
  Platform platform = pattern_platform("int8 symmetric tensor", "int8 symmetric channel:0 narrow");
  platform.aliases = {"TensorRTQuantizer"};
  platform.product = "qdq_onnx";
  platform.annotate = annotate;
  platform.refuses = refuse;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("mmrazor_tensorrt", mmrazor_tensorrt, "mmrazor's TensorRTQuantizer; int8 symmetric")

}  // namespace quench

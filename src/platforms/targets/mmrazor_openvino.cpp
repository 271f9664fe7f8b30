// mmrazor_openvino: mmrazor's OpenVINOQuantizer. docs/platforms.md 6. Its activations are "quint8, symmetric", which in
// torch means a zero point of 127 or 128 (D10); ours are affine.

#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) {
  static const PatternRules rules = {
      {"Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Mul", "Concat"}, sharing_ops(), true};
  annotate_patterns(plan, rules);
}

Platform mmrazor_openvino() {
  Platform platform = pattern_platform("uint8 affine tensor", "int8 symmetric channel:0 narrow");
  platform.aliases = {"OpenVINOQuantizer", "OpenvinoQuantizer"};
  platform.requantize = "affine";
  correct_by_default(platform);
  platform.product = "fake_quantize_onnx";
  platform.annotate = annotate;
  platform.refuses = refuses_all_but_quint8;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("mmrazor_openvino", mmrazor_openvino, "mmrazor's OpenVINOQuantizer; uint8 affine")

}  // namespace quench

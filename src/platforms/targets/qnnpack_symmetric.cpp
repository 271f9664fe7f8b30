// qnnpack_symmetric: torch's recipe for XNNPACK's signed kernels (default_symmetric_qnnpack_qconfig): activations of
// -128..127, weights of -127..127. docs/platforms.md 7. torch floors its scales at 2^-12; ours keep the floor of all
// scales (docs/numerics.md 3): a tensor of smaller steps than that is quantized as it is, not flattened.

#include "quench/platform_parts.h"

namespace quench {
namespace {

std::string refuses(const PlanEntry& entry, const Node* layer) { return refuses_eager(entry, layer, Signs::kSigned); }

Platform qnnpack_symmetric() {
  Platform platform = eager_platform("int8 affine tensor", "int8 symmetric tensor narrow");
  platform.requantize = "qnnpack";
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("qnnpack_symmetric", qnnpack_symmetric,
                         "torch's XNNPACK recipe; int8 activations and weights, one scale per tensor")

}  // namespace quench

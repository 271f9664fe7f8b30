// qnnpack: torch's backend for ARM. docs/platforms.md 7.

#include "quench/platform_parts.h"

namespace quench {
namespace {

Platform qnnpack() {
  Platform platform = eager_platform("uint8 affine tensor", "int8 symmetric tensor");
  platform.requantize = "qnnpack";
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("qnnpack", qnnpack, "torch's QNNPACK; uint8 activations, int8 weights, one scale per tensor")

}  // namespace quench

// fbgemm: torch's backend for servers. docs/platforms.md 7. Activations keep to 0..127 (reduce_range), so that two
// products with int8 weights fit the 16 bits in which AVX2 adds them.

#include "quench/platform_parts.h"

namespace quench {
namespace {

Platform fbgemm() {
  Platform platform = eager_platform("uint7 affine tensor", "int8 symmetric channel:0");
  platform.requantize = "fbgemm";
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("fbgemm", fbgemm, "torch's FBGEMM; uint8 activations of 0..127, int8 weights per channel")

}  // namespace quench

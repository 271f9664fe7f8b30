// x86: torch's default from 2.0 on, which runs FBGEMM or oneDNN by layer. docs/platforms.md 7. The recipe is that of
// fbgemm, with activations of 0..127.

#include "quench/platform_parts.h"

namespace quench {
namespace {

Platform x86() {
  Platform platform = eager_platform("uint7 affine tensor", "int8 symmetric channel:0");
  platform.requantize = "fbgemm";
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("x86", x86, "torch's default on x86; uint8 activations of 0..127, int8 weights per channel")

}  // namespace quench

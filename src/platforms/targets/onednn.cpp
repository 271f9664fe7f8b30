// onednn: torch's oneDNN backend: all 256 codes, as its VNNI kernels add in 32 bits. docs/platforms.md 7.

#include "quench/platform_parts.h"

namespace quench {
namespace {

Platform onednn() {
  Platform platform = eager_platform("uint8 affine tensor", "int8 symmetric channel:0");
  platform.requantize = "affine";
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("onednn", onednn, "torch's oneDNN; uint8 activations, int8 weights per channel")

}  // namespace quench

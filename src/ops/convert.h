// Conversion between any two element types, by ONNX's rules for Cast; also used by the quantize ops.
#pragma once

#include <cstdint>

#include "quench/rt_value.h"

namespace quench {

enum class E8M0Rounding : std::uint8_t { kUp, kDown, kNearest };

struct ConvertOptions {
  bool saturate = true;  // 8-bit floats: beyond the greatest number, that number; else infinity or NaN
  E8M0Rounding e8m0 = E8M0Rounding::kUp;
};

// Floats to nearest, ties to even; floats to integers towards zero; integers to narrower ones keep the
// low bits; int4, int2 and such too. Differentiable between LibTorch's own floating-point types.
RtValue convert(const RtValue& value, DType to, const ConvertOptions& options = {});

// The numbers as a tensor of a LibTorch type that arithmetic knows: fp8, fp4, e8m0 as float, others as they are.
at::Tensor decode(const RtValue& value);

}  // namespace quench

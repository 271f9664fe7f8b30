// Codes of whole tensors by LibTorch's own operators, on any device and in the steps' own precision: how operators of a
// graph round and clamp. Element by element this is the definition of quant/affine.h.
#pragma once

#include "quench/quant.h"

namespace at {
class Tensor;
}

namespace quench {

struct CodeRange {
  double low, high;
};
CodeRange code_range(int bits, bool is_signed);  // all codes of that many bits
CodeRange code_range(const QScheme& scheme);

// clamp(round(steps) + z), ties to even; still floating-point numbers. An undefined z is 0.
at::Tensor nearest_codes(const at::Tensor& steps, const at::Tensor& zero_point, const CodeRange& range);
// In the type of the one zero point, int8 or uint8.
at::Tensor nearest_bytes(const at::Tensor& steps, const at::Tensor& zero_point);

}  // namespace quench

#include "quant/code_tensor.h"

#include <ATen/ATen.h>

#include <cmath>

namespace quench {

CodeRange code_range(int bits, bool is_signed) {
  if (is_signed) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0.0, std::ldexp(1.0, bits) - 1};
}

CodeRange code_range(const QScheme& scheme) {
  return {static_cast<double>(scheme.qmin()), static_cast<double>(scheme.qmax())};
}

at::Tensor nearest_codes(const at::Tensor& steps, const at::Tensor& zero_point, const CodeRange& range) {
  const at::Tensor rounded = at::round(steps);
  return at::clamp(zero_point.defined() ? rounded + zero_point : rounded, range.low, range.high);
}

at::Tensor nearest_bytes(const at::Tensor& steps, const at::Tensor& zero_point) {
  const at::ScalarType type = zero_point.scalar_type();
  const at::Tensor zero = zero_point.to(steps.scalar_type()).reshape({});
  return nearest_codes(steps, zero, code_range(8, type == at::kChar)).to(type);
}

}  // namespace quench

#include "ops/number_types.h"

#include <ATen/ATen.h>

#include <limits>

namespace quench {
namespace {

constexpr std::int64_t kTopBit = std::numeric_limits<std::int64_t>::min();

bool is_float8(c10::ScalarType type) {
  return type == at::kFloat8_e4m3fn || type == at::kFloat8_e4m3fnuz || type == at::kFloat8_e5m2 ||
         type == at::kFloat8_e5m2fnuz;
}

}  // namespace

bool has_kernels(c10::ScalarType type) {
  return type != at::kUInt16 && type != at::kUInt32 && type != at::kUInt64 && !is_float8(type);
}

at::Tensor as_movable(const at::Tensor& tensor) {
  const c10::ScalarType type = tensor.scalar_type();
  if (type == at::kUInt16) return tensor.view(at::kShort);
  if (type == at::kUInt32) return tensor.view(at::kInt);
  if (type == at::kUInt64) return tensor.view(at::kLong);
  return is_float8(type) ? tensor.view(at::kByte) : tensor;
}

std::vector<at::Tensor> as_movable(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) result.push_back(as_movable(tensor));
  return result;
}

at::Tensor from_movable(const at::Tensor& tensor, c10::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.view(type);
}

at::Tensor widen(const at::Tensor& tensor) {
  const c10::ScalarType type = tensor.scalar_type();
  if (type == at::kUInt16) return tensor.to(at::kInt);
  if (type == at::kUInt32) return tensor.to(at::kLong);
  if (type == at::kUInt64) return tensor.view(at::kLong);
  return is_float8(type) ? tensor.to(at::kFloat) : tensor;
}

at::Tensor narrow(const at::Tensor& tensor, c10::ScalarType type) {
  if (tensor.scalar_type() == type) return tensor;
  if (type == at::kUInt64 && tensor.scalar_type() == at::kLong) return tensor.view(type);
  return tensor.to(type);
}

at::Tensor ordered(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kUInt64) return tensor.view(at::kLong).bitwise_xor(kTopBit);
  return widen(tensor);
}

at::Tensor from_ordered(const at::Tensor& tensor, c10::ScalarType type) {
  if (type == at::kUInt64) return tensor.bitwise_xor(kTopBit).view(type);
  return narrow(tensor, type);
}

at::Tensor in_floats(const at::Tensor& x, const std::function<at::Tensor(const at::Tensor&)>& compute) {
  const c10::ScalarType type = x.scalar_type();
  if (x.is_floating_point()) return has_kernels(type) ? compute(x) : narrow(compute(widen(x)), type);
  if (x.is_complex()) return at::complex(compute(at::real(x)), compute(at::imag(x)));
  const at::Tensor y = compute(widen(x).to(at::kDouble));
  return has_kernels(type) ? y.to(type) : narrow(y.to(at::kLong), type);
}

}  // namespace quench

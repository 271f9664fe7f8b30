#include "ops/convert.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

// The magnitudes of fp4 (e2m1), by code; bit 3 is the sign.
constexpr std::array<float, 8> kFloat4 = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
constexpr int kE8M0Bias = 127;
constexpr int kE8M0Nan = 255;

bool is_float8(DType dtype) {
  return dtype == DType::kFloat8E4M3Fn || dtype == DType::kFloat8E4M3Fnuz || dtype == DType::kFloat8E5M2 ||
         dtype == DType::kFloat8E5M2Fnuz;
}

double greatest_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3Fn: return 448.0;
    case DType::kFloat8E4M3Fnuz: return 240.0;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2Fnuz: return 57344.0;
    default: fail("no greatest number is known for ", name_of(dtype));
  }
}

at::Tensor look_up(const at::Tensor& codes, const at::Tensor& table) {
  return table.to(codes.device()).index_select(0, codes.to(at::kLong).reshape({-1})).reshape(codes.sizes());
}

at::Tensor decode_float4(const at::Tensor& codes) {
  at::Tensor table = at::empty({16}, at::kFloat);
  float* values = table.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < 16; ++i) values[i] = i < 8 ? kFloat4[i] : -kFloat4[i - 8];
  return look_up(codes, table);
}

at::Tensor decode_e8m0(const at::Tensor& codes) {
  at::Tensor table = at::empty({kE8M0Nan + 1}, at::kFloat);
  float* values = table.mutable_data_ptr<float>();
  for (int i = 0; i < kE8M0Nan; ++i) values[i] = std::ldexp(1.0F, i - kE8M0Bias);
  values[kE8M0Nan] = std::numeric_limits<float>::quiet_NaN();
  return look_up(codes, table);
}

// A tie goes to the even code: up from an odd lower neighbour (>=), down from an even one (>).
at::Tensor encode_float4(const at::Tensor& values) {
  const at::Tensor magnitude = values.abs();
  at::Tensor code = at::zeros_like(magnitude, at::kByte);
  for (std::size_t i = 0; i + 1 < kFloat4.size(); ++i) {
    const float middle = (kFloat4[i] + kFloat4[i + 1]) / 2;
    code = code + (i % 2 == 1 ? magnitude.ge(middle) : magnitude.gt(middle)).to(at::kByte);
  }
  return code + values.signbit().to(at::kByte) * 8;
}

// e8m0 is a float's exponent; how the fraction affects it is up to the rounding mode.
at::Tensor encode_e8m0(const at::Tensor& values, const ConvertOptions& options) {
  const at::Tensor x = values.to(at::kFloat).contiguous();
  const at::Tensor bits = x.view(at::kInt);
  const at::Tensor exponent = bits.bitwise_right_shift(23).bitwise_and(0xFF);
  const at::Tensor fraction = bits.bitwise_and(0x7FFFFF);
  at::Tensor up = at::zeros_like(bits, at::kBool);
  // Below 2^-126 a float has no hidden bit: 2^-127 itself is a fraction of 0x400000.
  const at::Tensor exact = exponent.eq(0).logical_and(fraction.eq(0x400000));
  if (options.e8m0 == E8M0Rounding::kUp) up = fraction.gt(0).logical_and(exact.logical_not());
  if (options.e8m0 == E8M0Rounding::kNearest) {
    const at::Tensor half = fraction.eq(0x400000).logical_and(exponent.gt(0));
    up = fraction.gt(0x400000).logical_or(half);
  }
  at::Tensor code = exponent + up.to(at::kInt);
  code = options.saturate ? code.clamp_max(kE8M0Nan - 1) : at::where(x.eq(0), at::full_like(code, kE8M0Nan), code);
  return at::where(x.isnan(), at::full_like(code, kE8M0Nan), code).to(at::kByte);
}

// The low bits of an integer, sign-extended where the type has a sign.
at::Tensor low_bits(const at::Tensor& values, DType to) {
  const at::Tensor wide = values.is_floating_point() ? values.to(at::kInt) : values.to(at::kLong);
  const std::int64_t count = std::int64_t{1} << bits_of(to);
  const at::Tensor code = wide.bitwise_and(count - 1);
  if (!is_signed(to)) return code.to(at::kByte);
  return at::where(code.ge(count / 2), code - count, code).to(at::kChar);
}

// What rounds beyond the greatest number: half a step above it, which itself rounds to even.
at::Tensor overflows(const at::Tensor& x, DType to) {
  if (to == DType::kFloat8E4M3Fn) return x.abs() > 464;
  return x.abs() >= (to == DType::kFloat8E4M3Fnuz ? 248 : 61440);
}

// LibTorch's own conversion of what overflows differs between its vectorised and its plain loops.
at::Tensor encode_float8(const at::Tensor& values, DType to, bool saturate) {
  const at::Tensor x = values.to(at::kFloat);
  const at::Tensor kept = x.clamp(-greatest_of(to), greatest_of(to));
  if (saturate) return kept.to(scalar_type_of(to));
  const float beyond = to == DType::kFloat8E5M2 ? HUGE_VALF : NAN;
  return at::where(overflows(x, to), at::copysign(at::full_like(x, beyond), x), kept).to(scalar_type_of(to));
}

}  // namespace

at::Tensor decode(const RtValue& value) {
  const at::Tensor& tensor = value.tensor();
  if (value.dtype() == DType::kFloat4E2M1) return decode_float4(tensor);
  if (value.dtype() == DType::kFloat8E8M0) return decode_e8m0(tensor);
  return is_float8(value.dtype()) ? tensor.to(at::kFloat) : tensor;
}

RtValue convert(const RtValue& value, DType to, const ConvertOptions& options) {
  if (value.dtype() == to) return value;
  QUENCH_CHECK(to != DType::kString && value.dtype() != DType::kString, "tensors of strings are not supported");
  const at::Tensor x = decode(value);
  if (to == DType::kFloat4E2M1) return {encode_float4(x.to(at::kFloat)), to};
  if (to == DType::kFloat8E8M0) return {encode_e8m0(x, options), to};
  if (is_float8(to)) return {encode_float8(x, to, options.saturate), to};
  if (is_integer(to) && bits_of(to) < 8) return {low_bits(x, to), to};
  return {x.to(scalar_type_of(to)), to};
}

}  // namespace quench

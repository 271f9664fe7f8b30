#include "quant/reference.h"

#include <ATen/ATen.h>

#include "quant/affine.h"
#include "quant/float8.h"
#include "quant/log8.h"
#include "quench/error.h"

namespace quench {
namespace {

// Calls body(element, scale) for every element of a contiguous tensor.
template <typename Body>
void for_each_element(const at::Tensor& x, const QScheme& scheme, Body&& body) {
  if (scheme.per_tensor()) {
    for (std::int64_t i = 0; i < x.numel(); ++i) body(i, std::size_t{0});
    return;
  }
  const int axis = scheme.axis_of(static_cast<int>(x.dim()));
  const std::int64_t size = x.size(axis), inner = x.stride(axis);  // contiguous: what lies after the axis
  const std::int64_t outer = x.numel() / std::max<std::int64_t>(size * inner, 1);
  const bool grouped = scheme.granularity() == Granularity::kGroup;
  const std::int64_t groups = grouped ? size / scheme.group() : 1;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t a = 0; a < size; ++a)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t scale = grouped ? (o * groups + a / scheme.group()) * inner + i : a;
        body((o * size + a) * inner + i, static_cast<std::size_t>(scale));
      }
}

void check_params(const at::Tensor& x, const QType& type) {
  std::int64_t count = 1;
  for (const std::int64_t size : type.scheme.scale_shape(x.sizes().vec())) count *= size;
  const QParams& params = type.params;
  QUENCH_CHECK(
      static_cast<std::int64_t>(params.scale.size()) == count && params.zero_point.size() == params.scale.size(),
      "the scheme '", type.scheme.text(), "' needs ", count, " scales and zero points here, found ",
      params.scale.size(), " and ", params.zero_point.size());
  check_scales(params);
}

at::ScalarType storage_of(const QScheme& scheme) {
  switch (scheme.format()) {
    case Format::kInt: break;
    case Format::kE4M3Fn: return at::kFloat8_e4m3fn;
    case Format::kE5M2: return at::kFloat8_e5m2;
    case Format::kLog: return at::kByte;
  }
  if (scheme.bits() <= 8) return scheme.is_signed() ? at::kChar : at::kByte;
  return scheme.is_signed() ? at::kShort : at::kUInt16;
}

const Float8& float8_of(const QScheme& scheme) {
  return scheme.format() == Format::kE5M2 ? kFloat8E5M2 : kFloat8E4M3Fn;
}

// x/s, as the platform has it.
float steps_of(float x, float scale, QuantizeBy by) {
  return by == QuantizeBy::kDivision ? x / scale : x * (1.0F / scale);
}

at::Tensor quantize_int(const at::Tensor& x, const QType& type, QuantizeBy by) {
  const at::Tensor codes = at::empty(x.sizes(), at::kInt);
  const auto n = static_cast<float>(type.scheme.qmin()), p = static_cast<float>(type.scheme.qmax());
  const float* in = x.const_data_ptr<float>();
  auto* out = codes.mutable_data_ptr<std::int32_t>();
  for_each_element(x, type.scheme, [&](std::int64_t i, std::size_t c) {
    const std::int32_t zero_point = type.params.zero_point[c];
    const auto z = static_cast<float>(zero_point);
    const float step = nearest_step(steps_of(in[i], type.params.scale[c], by), {n - z, p - z});
    out[i] = (std::isnan(step) ? 0 : static_cast<std::int32_t>(step)) + zero_point;
  });
  return codes.to(storage_of(type.scheme));
}

at::Tensor quantize_float(const at::Tensor& x, const QType& type, QuantizeBy by) {
  const at::Tensor codes = at::empty(x.sizes(), at::kByte);
  const float* in = x.const_data_ptr<float>();
  auto* out = codes.mutable_data_ptr<std::uint8_t>();
  const Float8& format = float8_of(type.scheme);
  for_each_element(x, type.scheme, [&](std::int64_t i, std::size_t c) {
    out[i] = encode(format, steps_of(in[i], type.params.scale[c], by));
  });
  return codes.view(storage_of(type.scheme));
}

at::Tensor quantize_log(const at::Tensor& x, const QType& type) {
  const at::Tensor codes = at::empty(x.sizes(), at::kByte);
  const float* in = x.const_data_ptr<float>();
  auto* out = codes.mutable_data_ptr<std::uint8_t>();
  const double offset = log8_offset(type.params.scale[0]);
  for (std::int64_t i = 0; i < x.numel(); ++i) out[i] = encode_log8(in[i], offset);
  return codes;
}

float dequantize_byte(std::uint8_t code, const QType& type, std::size_t c) {
  const float scale = type.params.scale[c];
  if (type.scheme.format() == Format::kLog) return static_cast<float>(decode_log8(code, log8_offset(scale)));
  return decode(float8_of(type.scheme), code) * scale;
}

}  // namespace

void check_scales(const QParams& params) {
  for (const float scale : params.scale)
    QUENCH_CHECK(scale > 0.0F && std::isfinite(scale), "a scale must be positive and finite, not ", scale);
}

at::Tensor quantize_reference(const at::Tensor& x, const QType& type, QuantizeBy by) {
  check_params(x, type);
  const at::Tensor plain = x.detach().to(at::kCPU, at::kFloat).contiguous();
  switch (type.scheme.format()) {
    case Format::kInt: return quantize_int(plain, type, by);
    case Format::kE4M3Fn:
    case Format::kE5M2: return quantize_float(plain, type, by);
    case Format::kLog: return quantize_log(plain, type);
  }
  return {};
}

at::Tensor dequantize_reference(const at::Tensor& codes, const QType& type) {
  check_params(codes, type);
  const at::Tensor y = at::empty(codes.sizes(), at::kFloat);
  auto* out = y.mutable_data_ptr<float>();
  if (type.scheme.is_int()) {
    const at::Tensor plain = codes.to(at::kCPU, at::kInt).contiguous();
    const auto* in = plain.const_data_ptr<std::int32_t>();
    for_each_element(plain, type.scheme, [&](std::int64_t i, std::size_t c) {
      out[i] = static_cast<float>(in[i] - type.params.zero_point[c]) * type.params.scale[c];
    });
    return y;
  }
  QUENCH_CHECK(codes.scalar_type() == storage_of(type.scheme), "codes of the scheme '", type.scheme.text(),
               "' cannot be of type ", codes.scalar_type());
  const at::Tensor plain = codes.cpu().contiguous().view(at::kByte);
  const auto* in = plain.const_data_ptr<std::uint8_t>();
  for_each_element(plain, type.scheme,
                   [&](std::int64_t i, std::size_t c) { out[i] = dequantize_byte(in[i], type, c); });
  return y;
}

at::Tensor fake_quantize_reference(const at::Tensor& x, const QType& type, QuantizeBy by) {
  const at::Tensor plain = x.detach().to(at::kCPU, at::kFloat).contiguous();
  return at::where(plain.isnan(), plain, dequantize_reference(quantize_reference(plain, type, by), type));
}

at::Tensor store_codes(const at::Tensor& codes, const QScheme& scheme) {
  const at::Tensor wide = codes.to(at::kLong);
  if (wide.numel() > 0) {
    const auto least = wide.min().item<std::int64_t>(), greatest = wide.max().item<std::int64_t>();
    QUENCH_CHECK(least >= scheme.qmin() && greatest <= scheme.qmax(), "codes from ", least, " to ", greatest,
                 " do not fit the scheme '", scheme.text(), "'");
  }
  return wide.to(storage_of(scheme));
}

}  // namespace quench

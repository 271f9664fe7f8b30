#include <ATen/ATen.h>

#include <cmath>

#include "quant/accumulator.h"
#include "quant/integer_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

using Codes = std::int64_t;  // less their zero point

struct AddParams {
  float a_scale, b_scale;
  std::int32_t a_zero, b_zero;
  OutputCodes y;
};

// ONNX Runtime (MLAS) as measured: everything that is constant in one float32, then two fused multiply-adds on
// the codes themselves, the zero point inside; ties to even. See docs/numerics.md 11.
auto add_mlas(const AddParams& p) {
  const float ra = p.a_scale / p.y.scale, rb = p.b_scale / p.y.scale;
  const float constant = static_cast<float>(p.y.zero_point) -
                         std::fma(ra, static_cast<float>(p.a_zero), rb * static_cast<float>(p.b_zero));
  OutputCodes plain = p.y;
  plain.zero_point = 0;
  return [=](Codes a, Codes b) {
    const auto code_a = static_cast<float>(a + p.a_zero), code_b = static_cast<float>(b + p.b_zero);
    return plain.nearest(std::fma(code_a, ra, std::fma(code_b, rb, constant)));
  };
}

// The same in WebAssembly, which has no fused multiply-add: both products, their sum, then the constant (measured: 0 of
// 8 million codes of ResNet-56's Adds differ; with the constant first one does, with fused steps three).
auto add_mlas_plain(const AddParams& p) {
  const float ra = p.a_scale / p.y.scale, rb = p.b_scale / p.y.scale;
  const float constant =
      static_cast<float>(p.y.zero_point) - (ra * static_cast<float>(p.a_zero) + rb * static_cast<float>(p.b_zero));
  OutputCodes plain = p.y;
  plain.zero_point = 0;
  return [=](Codes a, Codes b) {
    const float left = static_cast<float>(a + p.a_zero) * ra, right = static_cast<float>(b + p.b_zero) * rb;
    return plain.nearest((left + right) + constant);
  };
}

// LiteRT's reference Add of 8-bit codes: both operands to steps of twice the larger scale over 2^20.
auto add_tflite(const AddParams& p) {
  constexpr int kLeftShift = 20;
  const double twice = 2.0 * static_cast<double>(std::fmax(p.a_scale, p.b_scale));
  const FixedPoint ma = fixed_point(p.a_scale / twice), mb = fixed_point(p.b_scale / twice);
  const FixedPoint my = fixed_point(twice / ((1 << kLeftShift) * static_cast<double>(p.y.scale)));
  return [=](Codes a, Codes b) {
    const Codes sum = Codes{multiply_tflite(a << kLeftShift, ma)} + multiply_tflite(b << kLeftShift, mb);
    return p.y.clamp(Codes{multiply_tflite(sum, my)} + p.y.zero_point);
  };
}

// Both multipliers at one shift, so that the sum of the products is rounded once.
auto add_half_up(const AddParams& p, int bits) {
  FixedPoint ma = fixed_point(static_cast<double>(p.a_scale) / p.y.scale, bits);
  FixedPoint mb = fixed_point(static_cast<double>(p.b_scale) / p.y.scale, bits);
  if (ma.mantissa == 0) ma.shift = mb.shift;
  if (mb.mantissa == 0) mb.shift = ma.shift;
  const int shift = std::min(ma.shift, mb.shift);
  const auto align = [&](const FixedPoint& m) { return shift_half_up(m.mantissa, m.shift - shift); };
  const Codes na = align(ma), nb = align(mb);
  return [=](Codes a, Codes b) { return p.y.clamp(shift_half_up(a * na + b * nb, shift) + p.y.zero_point); };
}

// PyTorch's qadd, vectorised: both operands dequantized by a fused multiply-add, the sum times the reciprocal.
auto add_fbgemm(const AddParams& p) {
  const float inverse = 1.0F / p.y.scale;
  const float a_shift = p.a_scale * -static_cast<float>(p.a_zero), b_shift = p.b_scale * -static_cast<float>(p.b_zero);
  return [=](Codes a, Codes b) {
    const float left = std::fma(p.a_scale, static_cast<float>(a + p.a_zero), a_shift);
    const float right = std::fma(p.b_scale, static_cast<float>(b + p.b_zero), b_shift);
    return p.y.nearest((left + right) * inverse);
  };
}

// QNNPACK's: multipliers of 22 bits at one shift, so that the larger fills them; one rounding, ties away from zero.
auto add_qnnpack(const AddParams& p) {
  const float ra = p.a_scale / p.y.scale, rb = p.b_scale / p.y.scale;
  const int shift = 21 - std::ilogb(std::fmax(ra, rb));
  const Codes ma = std::lrint(std::scalbn(ra, shift)), mb = std::lrint(std::scalbn(rb, shift));
  return [=](Codes a, Codes b) {
    const Codes sum = a * ma + b * mb, magnitude = shift_half_up(sum < 0 ? -sum : sum, shift);
    return p.y.clamp((sum < 0 ? -magnitude : magnitude) + p.y.zero_point);
  };
}

template <typename Add>
at::Tensor apply(const at::Tensor& a, const at::Tensor& b, const QScheme& scheme, Add&& add) {
  const std::vector<at::Tensor> both = at::broadcast_tensors({a.to(at::kLong), b.to(at::kLong)});
  const at::Tensor left = both[0].contiguous(), right = both[1].contiguous();
  const at::Tensor out = at::empty(left.sizes(), at::kInt);
  const auto *pa = left.const_data_ptr<Codes>(), *pb = right.const_data_ptr<Codes>();
  auto* to = out.mutable_data_ptr<std::int32_t>();
  for (Codes i = 0; i < out.numel(); ++i) to[i] = add(pa[i], pb[i]);
  return store_codes(out, scheme);
}

}  // namespace

at::Tensor integer_add(const QTensor& a, const QTensor& b, const Output& y) {
  const at::Tensor ca = centered(a), cb = centered(b);
  const QScheme& scheme = y.type.scheme;
  const AddParams p{tensor_scale(a), tensor_scale(b), a.type.params.zero_point[0], b.type.params.zero_point[0],
                    output_codes(y.type, y.arithmetic, y.clip)};
  const auto real = [p](Codes u, Codes v) {
    return static_cast<float>(u) * p.a_scale + static_cast<float>(v) * p.b_scale;
  };
  const float inverse = 1.0F / p.y.scale;
  switch (y.arithmetic.rule) {
    case Requantize::kMlas: return apply(ca, cb, scheme, add_mlas(p));
    case Requantize::kMlasPlain: return apply(ca, cb, scheme, add_mlas_plain(p));
    case Requantize::kTflite:
      QUENCH_CHECK(a.type.scheme.bits() <= 8 && b.type.scheme.bits() <= 8, "the tflite rule of Add is for 8-bit codes");
      return apply(ca, cb, scheme, add_tflite(p));
    case Requantize::kHalfUp: return apply(ca, cb, scheme, add_half_up(p, y.arithmetic.multiplier_bits));
    case Requantize::kAway:
      return apply(ca, cb, scheme, [&](Codes u, Codes v) { return p.y.nearest_away(real(u, v) * inverse); });
    case Requantize::kAffine:
      return apply(ca, cb, scheme, [&](Codes u, Codes v) { return p.y.nearest_shifted(real(u, v) * inverse); });
    case Requantize::kFloat:
      return apply(ca, cb, scheme, [&](Codes u, Codes v) { return p.y.nearest(real(u, v) / p.y.scale); });
    case Requantize::kFbgemm: return apply(ca, cb, scheme, add_fbgemm(p));
    case Requantize::kQnnpack: return apply(ca, cb, scheme, add_qnnpack(p));
  }
  return {};
}

at::Tensor integer_mul(const QTensor& a, const QTensor& b, const Output& y) {
  const at::Tensor products = centered(a) * centered(b);
  check_int32(products, 1, accumulator_bound(1, a.type, b.type));
  // MLAS adds the zero point before it rounds here, unlike in its matrix products (measured).
  Arithmetic arithmetic = y.arithmetic;
  if (is_mlas(arithmetic.rule)) arithmetic.rule = Requantize::kAffine;
  const AccumulatorStep step{tensor_scale(a), {tensor_scale(b)}, 1};
  return requantized(products, 0, Requantizer(arithmetic, step, output_codes(y.type, y.arithmetic, y.clip)),
                     y.type.scheme);
}

namespace {

// OpenVINO quantizes by an interval, n steps wide, that it has divided by x's scale before (measured: of 256 codes
// those that lie on a tie fall as this multiplier says, and not as s_x / s_y does).
at::Tensor requantize_by_interval(const QTensor& x, const Output& y) {
  const OutputCodes codes = output_codes(y.type, y.arithmetic, y.clip);
  const auto steps = static_cast<float>(y.type.scheme.levels() - 1);
  const float multiplier = steps / ((steps * codes.scale) / tensor_scale(x));
  return apply(centered(x), at::zeros({}), y.type.scheme,
               [&](Codes u, Codes) { return codes.nearest_shifted(static_cast<float>(u) * multiplier); });
}

// PyTorch dequantizes, and quantizes by the reciprocal.
at::Tensor requantize_by_reciprocal(const QTensor& x, const Output& y) {
  const OutputCodes codes = output_codes(y.type, y.arithmetic, y.clip);
  const float scale = tensor_scale(x), inverse = 1.0F / codes.scale;
  return apply(centered(x), at::zeros({}), y.type.scheme,
               [&](Codes u, Codes) { return codes.nearest(static_cast<float>(u) * scale * inverse); });
}

}  // namespace

at::Tensor integer_requantize(const QTensor& x, const Output& y) {
  if (y.arithmetic.rule == Requantize::kAffine) return requantize_by_interval(x, y);
  if (y.arithmetic.rule == Requantize::kFbgemm || y.arithmetic.rule == Requantize::kQnnpack)
    return requantize_by_reciprocal(x, y);
  // ONNX Runtime dequantizes and quantizes, by table (measured).
  Arithmetic arithmetic = y.arithmetic;
  if (is_mlas(arithmetic.rule)) arithmetic.rule = Requantize::kFloat;
  const AccumulatorStep step{tensor_scale(x), {1.0F}, 1};
  return requantized(centered(x), 0, Requantizer(arithmetic, step, output_codes(y.type, y.arithmetic, y.clip)),
                     y.type.scheme);
}

at::Tensor integer_concat(const std::vector<QTensor>& inputs, std::int64_t axis, const Output& y) {
  std::vector<at::Tensor> parts;
  for (const QTensor& x : inputs) {
    const bool same = x.type.scheme == y.type.scheme && x.type.params == y.type.params;
    parts.push_back(same ? integer_clip({x.codes, x.type}, y.clip) : integer_requantize(x, y));
  }
  return at::cat(parts, axis);
}

at::Tensor integer_clip(const QTensor& x, const Clip& clip) {
  const OutputCodes bounds = output_codes(x.type, {}, clip);
  return store_codes(store_codes(x.codes.cpu(), x.type.scheme).to(at::kInt).clamp(bounds.low, bounds.high),
                     x.type.scheme);
}

at::Tensor integer_pad(const QTensor& x, const std::vector<std::int64_t>& pads, float value) {
  const auto rank = static_cast<std::size_t>(x.codes.dim());
  QUENCH_CHECK(pads.size() == 2 * rank, "Pad of a tensor of rank ", rank, " needs ", 2 * rank, " pads, not ",
               pads.size());
  std::vector<std::int64_t> reversed;
  for (std::size_t d = rank; d-- > 0;) {
    QUENCH_CHECK(pads[d] >= 0 && pads[d + rank] >= 0, "the pads of axis ", d, " are ", pads[d], " and ", pads[d + rank],
                 "; pads must not be negative");
    reversed.push_back(pads[d]);
    reversed.push_back(pads[d + rank]);
  }
  const OutputCodes codes = output_codes(x.type, {});
  const at::Tensor wide = store_codes(x.codes.cpu(), x.type.scheme).to(at::kInt);
  return store_codes(at::constant_pad_nd(wide, reversed, codes.nearest(value / codes.scale)), x.type.scheme);
}

}  // namespace quench

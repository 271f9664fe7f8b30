#include "quant/requantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quant/rounding.h"
#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

constexpr std::array kRules = {Requantize::kMlas,   Requantize::kMlasPlain, Requantize::kTflite,
                               Requantize::kHalfUp, Requantize::kAway,      Requantize::kAffine,
                               Requantize::kFloat,  Requantize::kFbgemm,    Requantize::kQnnpack};
constexpr int kLeastExponent = -31;  // TFLite's QuantizeMultiplier takes M below 2^-32 for 0
constexpr int kMostExponent = 30;

std::int64_t saturate_int32(std::int64_t value) {
  return std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max());
}

// gemmlowp's SaturatingRoundingDoublingHighMul: a*b/2^31, ties up. A multiplier is below 2^31, so it never
// saturates.
std::int64_t high_multiply(std::int64_t a, std::int64_t b) { return shift_half_up(a * b, 31); }

// gemmlowp's RoundingDivideByPOT: ties away from zero.
std::int64_t shift_half_away(std::int64_t value, int shift) {
  const std::int64_t magnitude = shift_half_up(value < 0 ? -value : value, shift);
  return value < 0 ? -magnitude : magnitude;
}

}  // namespace

bool is_mlas(Requantize rule) { return rule == Requantize::kMlas || rule == Requantize::kMlasPlain; }

const char* name_of(Requantize rule) {
  switch (rule) {
    case Requantize::kMlas: return "mlas";
    case Requantize::kMlasPlain: return "mlas_plain";
    case Requantize::kTflite: return "tflite";
    case Requantize::kHalfUp: return "half_up";
    case Requantize::kAway: return "away";
    case Requantize::kAffine: return "affine";
    case Requantize::kFloat: return "float";
    case Requantize::kFbgemm: return "fbgemm";
    case Requantize::kQnnpack: return "qnnpack";
  }
  return "";
}

Requantize requantize_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const Requantize rule : kRules) {
    if (name == name_of(rule)) return rule;
    names.emplace_back(name_of(rule));
  }
  fail_unknown_name("requantization rule", name, names);
}

FixedPoint fixed_point(double multiplier, int bits) {
  QUENCH_CHECK(bits >= 2 && bits <= 31, "a fixed-point multiplier has 2 to 31 bits, not ", bits);
  QUENCH_CHECK(std::isfinite(multiplier) && multiplier >= 0.0,
               "the multiplier of a requantization must be finite and not negative, not ", multiplier);
  int exponent = 0;
  const double fraction = std::frexp(multiplier, &exponent);  // [1/2, 1)
  auto mantissa = static_cast<std::int64_t>(std::round(std::ldexp(fraction, bits)));
  if (mantissa == std::int64_t{1} << bits) {
    mantissa /= 2;
    ++exponent;
  }
  if (mantissa == 0 || exponent < kLeastExponent) return {};
  QUENCH_CHECK(exponent <= kMostExponent, "the multiplier ", multiplier,
               " is too large for fixed point: are the scales of input and output right?");
  return {static_cast<std::int32_t>(mantissa), bits - exponent};
}

std::int64_t shift_half_up(std::int64_t value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 62) return 0;  // products are below 2^62 in magnitude
  return (value + (std::int64_t{1} << (shift - 1))) >> shift;
}

std::int32_t multiply_tflite(std::int64_t value, const FixedPoint& multiplier) {
  const int exponent = 31 - multiplier.shift;
  const std::int64_t shifted = saturate_int32(value << std::max(exponent, 0));
  return static_cast<std::int32_t>(
      shift_half_away(high_multiply(shifted, multiplier.mantissa), std::max(-exponent, 0)));
}

std::int32_t OutputCodes::clamp(std::int64_t code) const {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, low, high));
}

namespace {

// Also of what no integer holds; NaN gives the zero point's code. In double every float32 plus a zero point is exact.
std::int32_t clamp_real(double code, const OutputCodes& y) {
  if (std::isnan(code)) return y.clamp(y.zero_point);
  return static_cast<std::int32_t>(std::clamp<double>(code, y.low, y.high));
}

}  // namespace

std::int32_t OutputCodes::nearest(float steps) const {
  return clamp_real(static_cast<double>(round_even(steps)) + zero_point, *this);
}

std::int32_t OutputCodes::nearest_away(float steps) const {
  return clamp_real(static_cast<double>(round_by(steps, Rounding::kHalfAway)) + zero_point, *this);
}

std::int32_t OutputCodes::nearest_shifted(float steps) const {
  return clamp_real(round_even(steps + static_cast<float>(zero_point)), *this);
}

OutputCodes output_codes(const QType& type, const Arithmetic& arithmetic, const Clip& clip) {
  const QScheme& scheme = type.scheme;
  QUENCH_CHECK(scheme.is_int() && scheme.per_tensor(),
               "the result of an integer op needs an integer scheme per tensor, not '", scheme.text(), "'");
  QUENCH_CHECK(type.params.scale.size() == 1 && type.params.zero_point.size() == 1,
               "the result of an integer op needs one scale and one zero point");
  check_scales(type.params);
  OutputCodes y{type.params.scale[0], type.params.zero_point[0], scheme.qmin(), scheme.qmax()};
  if (arithmetic.rule == Requantize::kAway && scheme.is_signed()) y.low = -y.high;
  QUENCH_CHECK(!std::isnan(clip.min) && !std::isnan(clip.max), "cannot clip to ", clip.min, " ... ", clip.max,
               ": both bounds must be numbers");
  const OutputCodes whole = y;
  y.low = whole.nearest(clip.min / y.scale);
  y.high = whole.nearest(clip.max / y.scale);
  QUENCH_CHECK(y.low <= y.high, "cannot clip to ", clip.min, " ... ", clip.max,
               ": the lower bound is above the upper one");
  return y;
}

float product_multiplier(Requantize rule, float step, float y_scale) {
  return rule == Requantize::kQnnpack ? step * (1.0F / y_scale) : step / y_scale;
}

Requantizer::Requantizer(const Arithmetic& arithmetic, const AccumulatorStep& step, const OutputCodes& y)
    : rule_(arithmetic.rule), y_(y) {
  const bool fixed = rule_ == Requantize::kTflite || rule_ == Requantize::kHalfUp;
  const int bits = rule_ == Requantize::kHalfUp ? arithmetic.multiplier_bits : 31;
  const auto count = static_cast<float>(step.count);
  for (const float b : step.b) {
    const float single =
        step.count == 1 ? product_multiplier(rule_, step.a * b, y.scale) : (step.a * b) / (y.scale * count);
    QUENCH_CHECK(std::isfinite(single), "the multiplier ", step.a, " * ", b, " / ", y.scale, " does not fit float32");
    const double real = static_cast<double>(step.a) * b / static_cast<double>(step.count);
    multipliers_.push_back({single, real, fixed ? fixed_point(real / y.scale, bits) : FixedPoint{}});
  }
}

std::int32_t Requantizer::operator()(std::int64_t accumulator, std::size_t channel) const {
  const Multiplier& m = multipliers_[multipliers_.size() == 1 ? 0 : channel];
  const auto single = static_cast<float>(accumulator);
  switch (rule_) {
    case Requantize::kMlas:
    case Requantize::kMlasPlain:
    case Requantize::kFbgemm:
    case Requantize::kQnnpack: return y_.nearest(single * m.single);
    case Requantize::kTflite: return y_.clamp(std::int64_t{multiply_tflite(accumulator, m.fixed)} + y_.zero_point);
    case Requantize::kHalfUp:
      return y_.clamp(shift_half_up(accumulator * m.fixed.mantissa, m.fixed.shift) + y_.zero_point);
    case Requantize::kAway: return y_.nearest_away(single * m.single);
    case Requantize::kAffine: return y_.nearest_shifted(single * m.single);
    case Requantize::kFloat:
      return y_.nearest(static_cast<float>(static_cast<double>(accumulator) * m.real) / y_.scale);
  }
  return 0;
}

}  // namespace quench

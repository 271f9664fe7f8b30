// The 8-bit floats (e4m3fn and e5m2) from their definition, one element at a time: sign, exponent, mantissa;
// exponent 0 holds the subnormals. Encoding is ONNX's with saturate = 1: to nearest, ties to even; what is
// beyond the largest finite value, infinities included, becomes that value; NaN stays NaN.
#pragma once

#include <cmath>
#include <cstdint>

namespace quench {

struct Float8 {
  int mantissa_bits;
  int bias;
  std::uint8_t largest;  // code of the largest finite value
  bool has_infinity;     // the code after it; all above are NaN
};

constexpr Float8 kFloat8E4M3Fn{3, 7, 0x7E, false};
constexpr Float8 kFloat8E5M2{2, 15, 0x7B, true};

inline float decode(const Float8& format, std::uint8_t code) {
  const int magnitude = code & 0x7F;
  const float sign = (code & 0x80) != 0 ? -1.0F : 1.0F;
  if (magnitude > format.largest) {
    const bool infinite = format.has_infinity && magnitude == format.largest + 1;
    return sign * (infinite ? INFINITY : NAN);
  }
  const int exponent = magnitude >> format.mantissa_bits, mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissa_bits);
  const int significand = mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(significand), exponent - format.bias - format.mantissa_bits);
}

inline std::uint8_t encode(const Float8& format, float x) {
  const int sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return static_cast<std::uint8_t>(sign | 0x7F);
  const float magnitude = std::fabs(x);
  if (magnitude >= decode(format, format.largest)) return static_cast<std::uint8_t>(sign | format.largest);
  if (magnitude == 0.0F) return static_cast<std::uint8_t>(sign);
  // Below the least normal exponent the step no longer shrinks: the subnormals.
  const int least = 1 - format.bias, own = std::ilogb(magnitude);
  const int exponent = own < least ? least : own;
  // In double: scaling by a power of two is exact, so the one rounding is that of rint.
  const double steps = std::rint(std::ldexp(static_cast<double>(magnitude), format.mantissa_bits - exponent));
  // `steps` holds the leading one of a normal number, which counts as one exponent; a carry does too.
  const int code = ((exponent - least) << format.mantissa_bits) + static_cast<int>(steps);
  return static_cast<std::uint8_t>(sign | (code > format.largest ? format.largest : code));
}

}  // namespace quench

// HiSilicon's logarithmic format (docs/numerics.md 5.9), one element at a time, in float64: 16 steps per octave, 128
// positive and 127 negative magnitudes below `data_max`, which is the scale of a log scheme. The code: bit 7
// the sign, bits 0 to 6 the step; "minus, step 0", which no value has, is zero.
#pragma once

#include <cmath>
#include <cstdint>

namespace quench {

constexpr std::uint8_t kLog8Zero = 0x80;

// The exponent of step 0, in sixteenths.
inline double log8_offset(double data_max) { return std::rint(16.0 * std::log2(data_max)) - 127.0; }

inline std::uint8_t encode_log8(double x, double offset) {
  const bool negative = x < 0.0;
  const double magnitude = std::fabs(x), least = negative ? 1.0 : 0.0;
  // Half of the smallest magnitude; the threshold itself, and NaN, give zero.
  if (!(magnitude > std::exp2((offset + least - 16.0) / 16.0))) return kLog8Zero;
  const double step = std::fmin(std::fmax(std::rint(16.0 * std::log2(magnitude) - offset), least), 127.0);
  return static_cast<std::uint8_t>((negative ? 0x80 : 0) | static_cast<int>(step));
}

inline double decode_log8(std::uint8_t code, double offset) {
  if (code == kLog8Zero) return 0.0;
  const double magnitude = std::exp2(((code & 0x7F) + offset) / 16.0);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace quench

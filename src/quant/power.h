// x^p of x >= 0 as plain arithmetic without branches: the same bits in a loop of any vector width; see
// quant/math.h. 2^(p log2 x), the logarithm by the series of atanh: log2 m = 2 / ln 2 (t + t^3/3 + ...) with
// t = (m - 1) / (m + 1), |t| < 0.172 for m in [sqrt 1/2, sqrt 2).
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace quench {

// Relative error below 2^-22 (1 + |p log2 x|) for results in the normal range; below that 0 or a small number,
// of zero and of denormals 0.
QUENCH_HD inline float power_of(float x, float p) {
  const auto bits = __builtin_bit_cast(std::int32_t, x);
  // Taking 0.7071 as the lower end of the mantissas leaves the exponent in the upper bits.
  const std::int32_t shifted = bits - 0x3f3504f3;
  const std::int32_t exponent = shifted >> 23;
  const float m = __builtin_bit_cast(float, bits - (exponent << 23));
  const float t = (m - 1.0F) / (m + 1.0F), t2 = t * t;
  float series = 0.320598898F;          // 2 / (9 ln 2)
  series = series * t2 + 0.412198583F;  // 2 / (7 ln 2)
  series = series * t2 + 0.577078016F;  // 2 / (5 ln 2)
  series = series * t2 + 0.961796694F;  // 2 / (3 ln 2)
  series = series * t2 + 2.885390082F;  // 2 / ln 2
  float y = p * (static_cast<float>(exponent) + series * t);
  y = y < -126.0F ? -126.0F : y;
  y = y > 127.0F ? 127.0F : y;
  const float n = (y + 12582912.0F) - 12582912.0F, f = (y - n) * 0.693147181F;
  float e = 1.388888889e-3F;
  e = e * f + 8.333333333e-3F;
  e = e * f + 4.166666667e-2F;
  e = e * f + 1.666666667e-1F;
  e = e * f + 0.5F;
  e = e * f + 1.0F;
  e = e * f + 1.0F;
  const float result = e * __builtin_bit_cast(float, (static_cast<std::int32_t>(n) + 127) << 23);
  return bits < 0x00800000 ? 0.0F : result;
}

// The same in float64: relative error below 2^-48 (1 + |p log2 x|).
QUENCH_HD inline double power_of(double x, double p) {
  const auto bits = __builtin_bit_cast(std::int64_t, x);
  const std::int64_t shifted = bits - 0x3fe6a09e667f3bcd;
  // Before AVX-512 no vector instruction shifts 64 bits arithmetically; for the upper half alone there is one.
  const auto exponent = static_cast<std::int32_t>(static_cast<std::int32_t>(shifted >> 32) >> 20);
  const double m = __builtin_bit_cast(double, bits - (static_cast<std::int64_t>(exponent) << 52));
  const double t = (m - 1.0) / (m + 1.0), t2 = t * t;
  double series = 1.0 / 19;
  for (int k = 17; k >= 1; k -= 2) series = series * t2 + 1.0 / k;
  double y = p * (static_cast<double>(exponent) + series * t * 2.8853900817779268);
  y = y < -1022.0 ? -1022.0 : y;
  y = y > 1023.0 ? 1023.0 : y;
  const double n = (y + 6755399441055744.0) - 6755399441055744.0, f = (y - n) * 0.69314718055994531;
  double e = 1.0;
  for (int k = 13; k >= 1; --k) e = e * f * (1.0 / k) + 1.0;
  const double result = e * __builtin_bit_cast(double, (static_cast<std::int64_t>(n) + 1023) << 52);
  return bits < 0x0010000000000000 ? 0.0 : result;
}

}  // namespace quench

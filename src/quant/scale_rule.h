// The one scale rule (docs/numerics.md 3) for one range, as plain float32 arithmetic that the CPU and CUDA share.
#pragma once

#include <cfloat>
#include <cmath>

#include "core/host_device.h"

namespace quench {

constexpr float kScaleFloor = 1.1920929e-7F;  // 2^-23

struct ScaleRule {
  float qmin = -128, qmax = 127;  // for a float format -largest and largest
  bool is_signed = true;
  bool symmetric = true;
  bool power_of_two = false;
};

struct ScaleZero {
  float scale;
  float zero_point;  // an integer, or 0
};

// 2^round(log2 s). Exact: frexp gives s = m * 2^e with m in [1/2, 1), and log2 m > -1/2 where m > sqrt(1/2),
// which lies between the float below and the next.
QUENCH_HD inline float nearest_power_of_two(float scale) {
  int exponent = 0;
  const float mantissa = frexpf(scale, &exponent);
  return ldexpf(1.0F, mantissa > 0.70710677F ? exponent : exponent - 1);
}

// The floor and the power of two come first, then the zero point: it must fit the scale that is used.
QUENCH_HD inline ScaleZero finish_scale(float scale, float low, const ScaleRule& rule) {
  scale = scale < kScaleFloor ? kScaleFloor : scale;
  if (rule.power_of_two) scale = nearest_power_of_two(scale);
  if (rule.symmetric) return {scale, 0.0F};
  float zero = rule.qmin - rintf(low / scale);
  zero = zero < rule.qmin ? rule.qmin : zero;
  return {scale, zero > rule.qmax ? rule.qmax : zero};
}

// (high - low) / count, also where the difference of two finite ends is none.
QUENCH_HD inline float width_over(float low, float high, float count) {
  const float width = high - low;
  return width > FLT_MAX ? high / count - low / count : width / count;
}

// The scale is infinite only where no float32 holds it: a range of 1 bit, or a power of two, near FLT_MAX.
QUENCH_HD inline ScaleZero scale_of_range(float min, float max, const ScaleRule& rule) {
  const float low = min < 0.0F ? min : 0.0F, high = max > 0.0F ? max : 0.0F;
  if (!rule.symmetric) return finish_scale(width_over(low, high, rule.qmax - rule.qmin), low, rule);
  if (!rule.is_signed) return finish_scale(high / rule.qmax, low, rule);
  const float largest = -low > high ? -low : high;
  return finish_scale(largest / ((rule.qmax - rule.qmin) / 2), low, rule);
}

}  // namespace quench

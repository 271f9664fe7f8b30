// The affine op (docs/numerics.md 4) for one element: the definition of rounding and clamping. The fast loops of
// kernels/ (CPU and CUDA) and the plain ones call these same functions, so they agree bit for bit. Compiled
// without contraction (no fused multiply-add), or the last bit would depend on the machine.
//
// With integer bounds, clamp(round(v) + z, n, p) - z = round(clamp(v, n - z, p - z)): rounding is monotone and
// keeps integers. So z never enters the loop: `low` = n - z and `high` = p - z do.
//
// NaN comes out as NaN (a quantizer must not hide it), with no gradient; infinities clamp.
#pragma once

#include "core/host_device.h"

namespace quench {

// Steps from zero that are representable: the range of codes, less the zero point.
struct Steps {
  float low, high;
};

// What the loops know about one scale: computed once per channel, not per element.
struct Affine {
  float scale, inverse;
  Steps steps;
};

QUENCH_HD inline Affine affine_of(float scale, float zero_point, float qmin, float qmax) {
  return {scale, 1.0F / scale, {qmin - zero_point, qmax - zero_point}};
}

// v = x/s: a true division, or the product with the reciprocal (QuantizeBy).
QUENCH_HD inline float in_steps(float x, const Affine& a, bool divide) { return divide ? x / a.scale : x * a.inverse; }

// A Relu in front, where there is one; NaN stays. Its gradient passes as LibTorch's does.
QUENCH_HD inline float rectified(float x, bool relu) { return relu && x < 0.0F ? 0.0F : x; }
QUENCH_HD inline bool relu_passes(float x, bool relu) { return !relu || !(x <= 0.0F); }

#ifdef __CUDA_ARCH__
QUENCH_HD inline float round_even(float v) { return rintf(v); }
#else
QUENCH_HD inline float round_even(float v) { return __builtin_rintf(v); }
#endif

QUENCH_HD inline float clamp_steps(float v, Steps steps) {
  v = v < steps.low ? steps.low : v;
  return v > steps.high ? steps.high : v;
}

// The integer step nearest to v = x/s, as a float. The sum turns -0 into 0, as integer codes have it.
QUENCH_HD inline float nearest_step(float v, Steps steps) { return round_even(clamp_steps(v, steps)) + 0.0F; }

// What may be converted to int, and two of which add up to one: from -2^30 to the float below 2^30. NaN gives -2^30.
QUENCH_HD inline float bounded(float v) {
  return v > -1073741824.0F ? (v < 1073741760.0F ? v : 1073741760.0F) : -1073741824.0F;
}

// The integer code; NaN gives the zero point's. Defined for every zero point: what is bounded here is constant in a
// loop, the step then lies within.
QUENCH_HD inline int code_of(float v, Steps steps, float zero_point) {
  const float step = nearest_step(v, {bounded(steps.low), bounded(steps.high)});
  return static_cast<int>(step == step ? step : 0.0F) + static_cast<int>(bounded(zero_point));
}

QUENCH_HD inline float step_of_code(int code, float zero_point) { return static_cast<float>(code) - zero_point; }

// Whether the unclamped code is representable: where the gradient passes.
QUENCH_HD inline bool in_range(float v, Steps steps) {
  const float r = round_even(v);
  return r >= steps.low && r <= steps.high;
}

// LSQ's derivative of y by s, before the sum (docs/numerics.md 5.3).
QUENCH_HD inline float scale_slope(float v, Steps steps) {
  const float r = round_even(v);
  const float inside = r - v;
  return r < steps.low ? steps.low : (r > steps.high ? steps.high : inside);
}

}  // namespace quench

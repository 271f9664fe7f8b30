// The affine op (numerics 4) for one element: the definition of rounding and clamping. The fast loops of
// kernels/ (CPU and CUDA) and the plain ones call these same functions, so they agree bit for bit. Compiled
// without contraction (no fused multiply-add), or the last bit would depend on the machine.
//
// With integer bounds, clamp(round(v) + z, n, p) - z = round(clamp(v, n - z, p - z)): rounding is monotone and
// keeps integers. So z never enters the loop: `low` = n - z and `high` = p - z do.
//
// NaN comes out as NaN (a quantizer must not hide it), with no gradient; infinities clamp.
#pragma once

#include "quant/host_device.h"

namespace quench {

// Steps from zero that are representable: the range of codes, less the zero point.
struct Steps {
  float low, high;
};

QUENCH_HD inline float round_even(float v) { return __builtin_rintf(v); }

QUENCH_HD inline float clamp_steps(float v, Steps steps) {
  v = v < steps.low ? steps.low : v;
  return v > steps.high ? steps.high : v;
}

// The integer step nearest to v = x/s, as a float. The sum turns -0 into 0, as integer codes have it.
QUENCH_HD inline float nearest_step(float v, Steps steps) { return round_even(clamp_steps(v, steps)) + 0.0F; }

// Whether the unclamped code is representable: where the gradient passes.
QUENCH_HD inline bool in_range(float v, Steps steps) {
  const float r = round_even(v);
  return r >= steps.low && r <= steps.high;
}

// LSQ's derivative of y by s, before the sum (numerics 5.3).
QUENCH_HD inline float scale_slope(float v, Steps steps) {
  const float r = round_even(v);
  const float inside = r - v;
  return r < steps.low ? steps.low : (r > steps.high ? steps.high : inside);
}

}  // namespace quench

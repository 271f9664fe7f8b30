// AdaRound's soft rounding (docs/numerics.md 5.10; Nagel et al., "Up or down?", 2020) for one weight.
#pragma once

#include "quant/math.h"

namespace quench {

constexpr float kAdaZeta = 1.1F, kAdaGamma = -0.1F;
constexpr float kAdaStretch = 1.2F;  // zeta - gamma

// h before it is clamped to [0, 1].
QUENCH_HD inline float adaround_open(float sigma) { return kAdaStretch * sigma + kAdaGamma; }

QUENCH_HD inline float adaround_step(float v, float alpha, Steps steps) {
  const float h = clamp_steps(adaround_open(sigmoid(alpha)), {0.0F, 1.0F});
  return clamp_steps(round_down(v) + h, steps);
}

// d step / d alpha
QUENCH_HD inline float adaround_slope(float v, float alpha, Steps steps) {
  const float sigma = sigmoid(alpha), h = adaround_open(sigma);
  const float step = round_down(v) + h;
  const float slope = kAdaStretch * sigma * (1.0F - sigma);
  return h > 0.0F && h < 1.0F && step >= steps.low && step <= steps.high ? slope : 0.0F;
}

}  // namespace quench

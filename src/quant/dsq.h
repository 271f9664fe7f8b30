// DSQ (docs/numerics.md 5.8; Gong et al., "Differentiable soft quantization", 2019) for one element.
//
// Forward it is the affine op: phi is odd about the middle of each step and meets the integers at its ends, so
// round(phi(v)) = round(v). Only the gradient is soft.
#pragma once

#include <cmath>

#include "quant/math.h"

namespace quench {

struct DsqShape {
  float k = 0;      // K = ln((S + 1) / (S - 1)), S = 1 / (1 - alpha)
  float slope = 0;  // S K / 2, the slope in the middle of a step
};

inline DsqShape dsq_shape(double alpha) {
  const double s = 1.0 / (1.0 - alpha), k = std::log((s + 1.0) / (s - 1.0));
  return {static_cast<float>(k), static_cast<float>(0.5 * s * k)};
}

// d y / d x
QUENCH_HD inline float dsq_slope(float v, Steps steps, DsqShape shape) {
  const float f = v - round_down(v);
  const float slope = shape.slope * tanh_slope(shape.k * (f - 0.5F));
  return v >= steps.low && v <= steps.high ? slope : 0.0F;
}

}  // namespace quench

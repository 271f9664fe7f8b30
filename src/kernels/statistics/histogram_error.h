// The error of a candidate on a histogram whose counts are spread evenly over their bins.
//
// Let e(x) = |q(x) - x|^p and F its integral. Within the cell of step k, d = x - k s and
//   F(x) = sign(d) |d|^(p+1) / (p+1) + k * 2 (s/2)^(p+1) / (p+1),
// continuous at the borders of the cells; the outermost cells reach to infinity, so that clipping is included.
// A bin [a, b] with count n adds n (F(b) - F(a)) / (b - a). For p = 2 this is torch's error (docs/numerics.md 7.2) with
// the codes where the quantizer has them.
#pragma once

#include <cmath>

#include "kernels/statistics/candidates.h"

namespace quench {

struct EdgeIntegral {
  double inverse, scale, low, high, power;  // power: p + 1
  double cell;                              // the integral over one whole cell

  EdgeIntegral(const Candidate& candidate, double p)
      : inverse(1.0 / candidate.scale),
        scale(candidate.scale),
        low(candidate.steps.low),
        high(candidate.steps.high),
        power(p + 1),
        cell(2 * std::pow(scale / 2, power) / power) {}

  double operator()(double x) const {
    double k = std::nearbyint(x * inverse);
    k = k < low ? low : (k > high ? high : k);
    const double d = x - k * scale;
    const double whole = k * cell;
    if (power == 3.0) return d * d * d / 3 + whole;
    return std::copysign(std::pow(std::abs(d), power), d) / power + whole;
  }
};

}  // namespace quench

// Errors of quantization, for the searches. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"
#include "kernels/simd/simd_statistics.h"
#include "quant/power.h"

namespace quench {
namespace {

constexpr int kFloatTerms = 32;  // terms that a lane adds up in float32: an error of at most 32 * 2^-24

// term(value) of each element, in kLanes float32 sums of few terms, these in float64.
template <class Term>
QUENCH_LOOP double sum_terms(const float* x, std::int64_t length, const Term term) {
  double sums[kLanes] = {};
  std::int64_t i = 0;
  while (i + kLanes <= length) {
    float part[kLanes] = {};
    const std::int64_t end = least(length - kLanes + 1, i + static_cast<std::int64_t>(kFloatTerms) * kLanes);
    for (; i < end; i += kLanes) {
      QUENCH_NO_ALIAS
      for (int k = 0; k < kLanes; ++k) part[k] += term(x[i + k]);
    }
    for (int k = 0; k < kLanes; ++k) sums[k] += static_cast<double>(part[k]);
  }
  for (int k = 0; i < length; ++i, ++k) sums[k] += static_cast<double>(term(x[i]));
  double total = 0.0;
  for (int k = 0; k < kLanes; ++k) total += sums[k];
  return total;
}

QUENCH_LOOP float error_under(const Affine a, float x) { return nearest_step(x * a.inverse, a.steps) * a.scale - x; }

double error(const float* x, std::int64_t length, const Affine& affine, double power) {
  const Affine a = affine;
  if (power == 2.0)
    return sum_terms(x, length, [a](float v) {
      const float d = error_under(a, v);
      return d * d;
    });
  if (power == 1.0) return sum_terms(x, length, [a](float v) { return __builtin_fabsf(error_under(a, v)); });
  const auto p = static_cast<float>(power);
  return sum_terms(x, length, [a, p](float v) { return power_of(__builtin_fabsf(error_under(a, v)), p); });
}

template <Rounding kRounding>
QUENCH_LOOP double step_error_by(const float* x, std::int64_t length, const StepErrors by) {
  if (by.clamp_first)
    return sum_terms(x, length, [by](float v) {
      const float d = round_by(clamp_steps(v * by.inverse, by.steps), kRounding) * by.step - v;
      return d * d;
    });
  return sum_terms(x, length, [by](float v) {
    const float d = clamp_steps(round_by(v * by.inverse, kRounding), by.steps) * by.step - v;
    return d * d;
  });
}

double step_error(const float* x, std::int64_t length, const StepErrors& by) {
  switch (by.rounding) {
    case Rounding::kHalfEven: return step_error_by<Rounding::kHalfEven>(x, length, by);
    case Rounding::kHalfUpNegative: return step_error_by<Rounding::kHalfUpNegative>(x, length, by);
    case Rounding::kHalfUp: return step_error_by<Rounding::kHalfUp>(x, length, by);
    case Rounding::kHalfAway: return step_error_by<Rounding::kHalfAway>(x, length, by);
  }
  return 0.0;
}

// The nearest integer of |v| < 2^51: the sum leaves no room for a fraction.
QUENCH_LOOP double nearest_integer(double v) { return (v + 6755399441055744.0) - 6755399441055744.0; }

template <class Power>
QUENCH_LOOP double edge_sum_by(const EdgeSum& of, const Power power) {
  double sums[kLanes] = {};
  const double low = of.low, high = of.high, inverse = of.inverse, scale = of.scale, cell = of.cell;
  const auto term = [&](std::int64_t i) {
    const double x = of.edge[i];
    double k = x * inverse;
    k = k < low ? low : k;
    k = nearest_integer(k > high ? high : k);
    return of.weight[i] * (power(x - k * scale) + k * cell);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= of.count; i += kLanes) {
    QUENCH_NO_ALIAS
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  }
  for (int lane = 0; i < of.count; ++i, ++lane) sums[lane] += term(i);
  double total = 0.0;
  for (int lane = 0; lane < kLanes; ++lane) total += sums[lane];
  return total;
}

// sign(d) |d|^power / power
double edge_sum(const EdgeSum& of) {
  if (of.power == 3.0) return edge_sum_by(of, [](double d) { return d * d * d * (1.0 / 3.0); });
  const double power = of.power, inverse = 1.0 / of.power;
  return edge_sum_by(of, [power, inverse](double d) {
    const double p = power_of(__builtin_fabs(d), power) * inverse;
    return d < 0.0 ? -p : p;
  });
}

}  // namespace
}  // namespace quench

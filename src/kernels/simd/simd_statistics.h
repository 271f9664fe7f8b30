// The loops behind kernels/statistics/statistics.h, compiled for each instruction set as kernels/simd/simd.h says. Sums
// have a fixed order, so that all instruction sets give the same bits.
#pragma once

#include <cstdint>

#include "kernels/statistics/bins.h"
#include "quant/affine.h"
#include "quant/rounding.h"

namespace quench {

// Histograms of elements with even and with odd places lie interleaved, so that equal neighbours (zeros) do not
// wait for each other. More copies, or wider counters, would crowd the nearest cache, which the two threads of a
// core share.
constexpr int kCountCopies = 2;
constexpr std::int64_t kMostCounted = kCountCopies * 65535;  // elements that cannot overflow a counter

struct StepErrors {
  float step, inverse;
  Steps steps;
  Rounding rounding;
  bool clamp_first;
};

// Of one candidate on a histogram: the sum of weight[i] * F(edge[i]) of kernels/statistics/histogram_error.h.
struct EdgeSum {
  const double* edge;
  const double* weight;
  std::int64_t count;
  double inverse, scale, low, high, cell;
  double power;  // p + 1
};

struct StatisticsLoops {
  // Consecutive runs of `length` elements: one result each. A NaN makes both NaN.
  void (*min_max_runs)(const float* x, std::int64_t runs, std::int64_t length, float* min, float* max);
  // Rows of `width` elements: one result per column.
  void (*min_max_rows)(const float* x, std::int64_t rows, std::int64_t width, float* min, float* max);
  // Three sums per run: x, x^2, |x|.
  void (*moment_runs)(const float* x, std::int64_t runs, std::int64_t length, double* sums);
  // Those of column k at sums[k], sums[width + k], sums[2 width + k]; zeros on entry.
  void (*moment_rows)(const float* x, std::int64_t rows, std::int64_t width, double* sums);
  // counts[bin * kCountCopies + copy]; the bin after the last takes what lies outside. At most kMostCounted
  // elements, an odd number counting one more, until the counts are zero again.
  void (*count)(const float* x, std::int64_t length, const Bins& bins, bool absolute, std::uint16_t* counts);
  // The sum of |q(x) - x|^power.
  double (*error)(const float* x, std::int64_t length, const Affine& affine, double power);
  double (*step_error)(const float* x, std::int64_t length, const StepErrors& by);
  double (*edge_sum)(const EdgeSum& of);
};

}  // namespace quench

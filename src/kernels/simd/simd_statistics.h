// The loops behind kernels/statistics/statistics.h, compiled for each instruction set as kernels/simd/simd.h says. Sums
// have a fixed order, so that all instruction sets give the same bits.
#pragma once

#include <cstdint>

#include "kernels/statistics/bins.h"
#include "quant/affine.h"
#include "quant/rounding.h"

namespace quench {

// Elements with even and with odd places have histograms of their own, so that equal neighbours do not wait for each
// other. More copies, or wider counters, would crowd the nearest cache, which the two threads of a core share.
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

// Rows of `width` neighbouring numbers.
struct CutRows {
  std::int64_t count, stride, width;
};

// A number is cut into a multiple of `high`, and the rest into a multiple of `low`, both towards zero. The units are
// powers of two; the first multiple is below 2^25, and so then is the second.
struct CutUnits {
  float high, per_high, per_low;  // per: 1 / unit
};

struct RangedCounts {
  float min, max;  // of all that was counted, and of what was known before
  std::uint16_t* counts;
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
  // The copies lie behind each other; in each the bin after the last takes what lies outside. At most kMostCounted
  // elements, an odd number counting one more, until the counts are zero again.
  void (*count)(const float* x, std::int64_t length, const Bins& bins, bool absolute, std::uint16_t* counts);
  // The same with bins on the grid, which hold the range known before, and that of x too. False, with part of x
  // counted, if a value is not in any bin.
  bool (*count_inside)(const float* x, std::int64_t length, const Bins& bins, bool absolute, RangedCounts& found);
  // The sum of |q(x) - x|^power.
  double (*error)(const float* x, std::int64_t length, const Affine& affine, double power);
  double (*step_error)(const float* x, std::int64_t length, const StepErrors& by);
  double (*edge_sum)(const EdgeSum& of);
  float (*largest_magnitude)(const float* x, const CutRows& rows);  // infinite or NaN if a number is
  // Adds the multiples, column by column.
  void (*add_cut)(const float* x, const CutRows& rows, const CutUnits& units, std::int32_t* high, std::int32_t* low);
};

}  // namespace quench

// Range and moments. Only for isa_*.cpp.
#pragma once

#include "kernels/loops_each.h"
#include "kernels/simd_statistics.h"

namespace quench {
namespace {

constexpr int kColumns = 4 * kLanes;  // several vectors at a time, or each would wait for the one before

// The greatest magnitude as bits tells of a NaN: its bits are above those of infinity.
struct Extremes {
  float min[kColumns], max[kColumns];
  std::uint32_t bits[kColumns];
};

QUENCH_LOOP float smaller(float a, float b) { return b < a ? b : a; }
QUENCH_LOOP float greater(float a, float b) { return b > a ? b : a; }
QUENCH_LOOP std::uint32_t greater(std::uint32_t a, std::uint32_t b) { return b > a ? b : a; }
QUENCH_LOOP std::uint32_t magnitude_bits(float v) { return __builtin_bit_cast(std::uint32_t, v) & 0x7fffffffU; }
QUENCH_LOOP bool has_nan(std::uint32_t bits) { return bits > 0x7f800000U; }

QUENCH_LOOP void take_in(Extremes& e, int k, float v) {
  e.min[k] = smaller(e.min[k], v);
  e.max[k] = greater(e.max[k], v);
  e.bits[k] = greater(e.bits[k], magnitude_bits(v));
}

QUENCH_LOOP void extremes_of_run(const float* x, std::int64_t length, float& min, float& max) {
  Extremes e;
  for (int k = 0; k < kColumns; ++k) {
    e.min[k] = __builtin_inff();
    e.max[k] = -__builtin_inff();
    e.bits[k] = 0;
  }
  std::int64_t i = 0;
  for (; i + kColumns <= length; i += kColumns) {
    QUENCH_NO_ALIAS
    for (int k = 0; k < kColumns; ++k) take_in(e, k, x[i + k]);
  }
  for (int k = 0; i + k < length; ++k) take_in(e, k, x[i + k]);
  for (int k = 1; k < kColumns; ++k) {
    e.min[0] = smaller(e.min[0], e.min[k]);
    e.max[0] = greater(e.max[0], e.max[k]);
    e.bits[0] = greater(e.bits[0], e.bits[k]);
  }
  const bool nan = has_nan(e.bits[0]);
  min = nan ? __builtin_nanf("") : e.min[0];
  max = nan ? __builtin_nanf("") : e.max[0];
}

void min_max_runs(const float* x, std::int64_t runs, std::int64_t length, float* min, float* max) {
  for (std::int64_t run = 0; run < runs; ++run) extremes_of_run(x + run * length, length, min[run], max[run]);
}

void min_max_rows(const float* x, std::int64_t rows, std::int64_t width, float* min, float* max) {
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
    QUENCH_NO_ALIAS
    for (std::int64_t k = 0; k < width; ++k) {
      const float v = x[k], low = min[k], high = max[k];
      const bool stays = low != low;
      min[k] = stays || v >= low ? low : v;  // a NaN in v is taken over, and stays
      max[k] = stays || v <= high ? high : v;
    }
  }
}

struct MomentLanes {
  double sum[kLanes] = {}, squares[kLanes] = {}, absolute[kLanes] = {};
};

QUENCH_LOOP void take_in(MomentLanes& m, int k, double v) {
  m.sum[k] += v;
  m.squares[k] += v * v;
  m.absolute[k] += __builtin_fabs(v);
}

void moment_runs(const float* x, std::int64_t runs, std::int64_t length, double* sums) {
  for (std::int64_t run = 0; run < runs; ++run, x += length, sums += 3) {
    MomentLanes m;
    std::int64_t i = 0;
    for (; i + kLanes <= length; i += kLanes) {
      QUENCH_NO_ALIAS
      for (int k = 0; k < kLanes; ++k) take_in(m, k, static_cast<double>(x[i + k]));
    }
    for (int k = 0; i + k < length; ++k) take_in(m, k, static_cast<double>(x[i + k]));
    sums[0] = sums[1] = sums[2] = 0.0;
    for (int k = 0; k < kLanes; ++k) {
      sums[0] += m.sum[k];
      sums[1] += m.squares[k];
      sums[2] += m.absolute[k];
    }
  }
}

void moment_rows(const float* x, std::int64_t rows, std::int64_t width, double* sums) {
  double *sum = sums, *squares = sums + width, *absolute = sums + 2 * width;
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
    QUENCH_NO_ALIAS
    for (std::int64_t k = 0; k < width; ++k) {
      const auto v = static_cast<double>(x[k]);
      sum[k] += v;
      squares[k] += v * v;
      absolute[k] += __builtin_fabs(v);
    }
  }
}

}  // namespace
}  // namespace quench

// Range and moments. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"
#include "kernels/simd/simd_statistics.h"

namespace quench {
namespace {

// kLanes elements in one variable; where vectors are shorter the compiler takes several. Kept in local variables
// and handed on by reference only: how such a type is passed depends on the instruction set.
using FloatLanes = float __attribute__((vector_size(kLanes * sizeof(float))));
// On the alias, not on the type: clang drops an alignment given there, and loads as if x were aligned.
using LooseLanes __attribute__((aligned(alignof(float)), may_alias)) = FloatLanes;
constexpr int kAhead = 4;  // several at a time, or each would wait for the one before

// A NaN or two infinities make the sum a NaN: then the few elements are looked at again, one by one.
struct Extremes {
  FloatLanes min, max, sum;
};

QUENCH_LOOP void clear(Extremes& e) {
  e.min = FloatLanes{} + __builtin_inff();
  e.max = FloatLanes{} - __builtin_inff();
  e.sum = FloatLanes{};
}

QUENCH_LOOP void take_in(Extremes& e, const float* x) {
  const FloatLanes v = *reinterpret_cast<const LooseLanes*>(x);
  e.min = v < e.min ? v : e.min;
  e.max = v > e.max ? v : e.max;
  e.sum += v;
}

QUENCH_LOOP void merge(Extremes& e, const Extremes& other) {
  e.min = other.min < e.min ? other.min : e.min;
  e.max = other.max > e.max ? other.max : e.max;
  e.sum += other.sum;
}

// A NaN is taken over, and stays.
QUENCH_LOOP void take_in_exactly(float v, float& min, float& max) {
  if (min != min) return;
  min = v >= min ? min : v;
  max = v <= max ? max : v;
}

QUENCH_LOOP void extremes_of_run(const float* x, std::int64_t length, float& min, float& max) {
  Extremes e[kAhead];
  for (int j = 0; j < kAhead; ++j) clear(e[j]);
  std::int64_t i = 0;
  for (; i + kAhead * kLanes <= length; i += kAhead * kLanes)
    for (int j = 0; j < kAhead; ++j) take_in(e[j], x + i + j * kLanes);
  for (; i + kLanes <= length; i += kLanes) take_in(e[0], x + i);
  for (int j = 1; j < kAhead; ++j) merge(e[0], e[j]);
  min = __builtin_inff();
  max = -__builtin_inff();
  float sum = 0.0F;
  for (int k = 0; k < kLanes; ++k) {
    min = e[0].min[k] < min ? e[0].min[k] : min;
    max = e[0].max[k] > max ? e[0].max[k] : max;
    sum += e[0].sum[k];
  }
  std::int64_t again = i;  // the rest; after a NaN all
  if (sum != sum) {
    again = 0;
    min = __builtin_inff();
    max = -__builtin_inff();
  }
  for (; again < length; ++again) take_in_exactly(x[again], min, max);
}

void min_max_runs(const float* x, std::int64_t runs, std::int64_t length, float* min, float* max) {
  for (std::int64_t run = 0; run < runs; ++run) extremes_of_run(x + run * length, length, min[run], max[run]);
}

// kBlocks * kLanes columns of rows that are `width` apart. False if a NaN may be among them.
template <int kBlocks>
QUENCH_LOOP bool extremes_of_columns(const float* x, std::int64_t rows, std::int64_t width, float* min, float* max) {
  Extremes e[kBlocks];
  for (int j = 0; j < kBlocks; ++j) clear(e[j]);
  for (std::int64_t row = 0; row < rows; ++row, x += width)
    for (int j = 0; j < kBlocks; ++j) take_in(e[j], x + j * kLanes);
  bool clean = true;
  for (int j = 0; j < kBlocks; ++j)
    for (int k = 0; k < kLanes; ++k) {
      clean = clean && e[j].sum[k] == e[j].sum[k];
      min[j * kLanes + k] = e[j].min[k];
      max[j * kLanes + k] = e[j].max[k];
    }
  return clean;
}

void min_max_rows(const float* x, std::int64_t rows, std::int64_t width, float* min, float* max) {
  for (std::int64_t at = 0; at < width;) {
    const std::int64_t columns = width - at >= kAhead * kLanes ? kAhead * kLanes : least(kLanes, width - at);
    if (columns == kAhead * kLanes && extremes_of_columns<kAhead>(x + at, rows, width, min + at, max + at)) {
      at += columns;
      continue;
    }
    if (columns == kLanes && extremes_of_columns<1>(x + at, rows, width, min + at, max + at)) {
      at += columns;
      continue;
    }
    for (const std::int64_t end = at + columns; at < end; ++at) {
      min[at] = __builtin_inff();
      max[at] = -__builtin_inff();
      for (std::int64_t row = 0; row < rows; ++row) take_in_exactly(x[row * width + at], min[at], max[at]);
    }
  }
}

using PlainHalfLanes = float __attribute__((vector_size(kLanes / 2 * sizeof(float))));
using HalfLanes __attribute__((aligned(alignof(float)), may_alias)) = PlainHalfLanes;
using DoubleLanes = double __attribute__((vector_size(kLanes / 2 * sizeof(double))));

struct Moments {
  DoubleLanes sum, squares, absolute;
};

QUENCH_LOOP void take_in(Moments& m, const float* x) {
  const DoubleLanes v = __builtin_convertvector(*reinterpret_cast<const HalfLanes*>(x), DoubleLanes);
  m.sum += v;
  m.squares += v * v;
  m.absolute += v < 0.0 ? -v : v;
}

QUENCH_LOOP void take_in(double v, double* sum, double* squares, double* absolute) {
  *sum += v;
  *squares += v * v;
  *absolute += __builtin_fabs(v);
}

void moment_runs(const float* x, std::int64_t runs, std::int64_t length, double* sums) {
  constexpr int kHalf = kLanes / 2;
  for (std::int64_t run = 0; run < runs; ++run, x += length, sums += 3) {
    Moments m[2] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= length; i += kLanes) {
      take_in(m[0], x + i);
      take_in(m[1], x + i + kHalf);
    }
    sums[0] = sums[1] = sums[2] = 0.0;
    for (int k = 0; k < kHalf; ++k) {
      sums[0] += m[0].sum[k] + m[1].sum[k];
      sums[1] += m[0].squares[k] + m[1].squares[k];
      sums[2] += m[0].absolute[k] + m[1].absolute[k];
    }
    for (; i < length; ++i) take_in(static_cast<double>(x[i]), sums, sums + 1, sums + 2);
  }
}

// kBlocks half lanes of columns.
template <int kBlocks>
QUENCH_LOOP void moments_of_columns(const float* x, std::int64_t rows, std::int64_t width, double* sums) {
  constexpr int kHalf = kLanes / 2;
  Moments m[kBlocks] = {};
  for (std::int64_t row = 0; row < rows; ++row, x += width)
    for (int j = 0; j < kBlocks; ++j) take_in(m[j], x + j * kHalf);
  for (int j = 0; j < kBlocks; ++j)
    for (int k = 0; k < kHalf; ++k) {
      double* sum = sums + j * kHalf + k;
      sum[0] = m[j].sum[k];
      sum[width] = m[j].squares[k];
      sum[2 * width] = m[j].absolute[k];
    }
}

void moment_rows(const float* x, std::int64_t rows, std::int64_t width, double* sums) {
  constexpr int kHalf = kLanes / 2;
  std::int64_t at = 0;
  for (; at + kAhead * kHalf <= width; at += kAhead * kHalf) moments_of_columns<kAhead>(x + at, rows, width, sums + at);
  for (; at + kHalf <= width; at += kHalf) moments_of_columns<1>(x + at, rows, width, sums + at);
  for (; at < width; ++at)
    for (std::int64_t row = 0; row < rows; ++row)
      take_in(static_cast<double>(x[row * width + at]), sums + at, sums + width + at, sums + 2 * width + at);
}

}  // namespace
}  // namespace quench

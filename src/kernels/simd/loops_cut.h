// Sums of numbers that are cut into two integers each (ptq/exact_sum.h). Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"
#include "kernels/simd/simd_statistics.h"

namespace quench {
namespace {

// Bits of magnitudes order as the magnitudes do, with infinities and NaN above all numbers.
float largest_magnitude(const float* x, const CutRows& rows) {
  std::int32_t largest = 0;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* from = x + row * rows.stride;
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const std::int32_t bits = __builtin_bit_cast(std::int32_t, from[i]) & 0x7FFFFFFF;
      largest = bits > largest ? bits : largest;
    }
  }
  return __builtin_bit_cast(float, largest);
}

void add_cut(const float* x, const CutRows& rows, const CutUnits& units, std::int32_t* high, std::int32_t* low) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* from = x + row * rows.stride;
    QUENCH_NO_ALIAS
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const auto h = static_cast<std::int32_t>(from[i] * units.per_high);
      high[i] += h;
      low[i] += static_cast<std::int32_t>((from[i] - static_cast<float>(h) * units.high) * units.per_low);
    }
  }
}

}  // namespace
}  // namespace quench

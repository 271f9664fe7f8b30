// Histograms: the counters of a block are found in vectors, then counted up one by one. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"
#include "kernels/simd/simd_statistics.h"

namespace quench {
namespace {

constexpr int kCountBlock = 512;

// The counter of each element; bin and copy.
template <bool kAbsolute, bool kGrid>
QUENCH_LOOP void counters_of_block(const float* x, int length, Bins bins, std::int32_t* counter) {
  bins.grid = kGrid;  // known before the loop
  const float outside = bins.last + 1.0F;
  QUENCH_NO_ALIAS
  for (int i = 0; i < length; ++i) {
    const float v = kAbsolute ? __builtin_fabsf(x[i]) : x[i];
    const float place = is_inside(v, bins) ? place_of(v, bins) : outside;
    counter[i] = static_cast<std::int32_t>(place) * kCountCopies + i % kCountCopies;
  }
}

// Two counters are fetched at once: fetching costs as much as counting.
QUENCH_LOOP void count_block(const std::int32_t* counter, int length, std::uint16_t* counts) {
  int i = 0;
  for (; i + 8 <= length; i += 8)
    for (int k = 0; k < 8; k += 2) {
      std::uint64_t pair = 0;
      __builtin_memcpy(&pair, counter + i + k, sizeof pair);
      ++counts[static_cast<std::uint32_t>(pair)];
      ++counts[pair >> 32];
    }
  for (; i < length; ++i) ++counts[counter[i]];
}

template <bool kAbsolute, bool kGrid>
QUENCH_LOOP void count_all(const float* x, std::int64_t length, const Bins& bins, std::uint16_t* counts) {
  std::int32_t counter[kCountBlock];
  for (std::int64_t at = 0; at < length; at += kCountBlock) {
    const auto block = static_cast<int>(least(kCountBlock, length - at));
    counters_of_block<kAbsolute, kGrid>(x + at, block, bins, counter);
    count_block(counter, block, counts);
  }
}

void count(const float* x, std::int64_t length, const Bins& bins, bool absolute, std::uint16_t* counts) {
  if (bins.grid)
    absolute ? count_all<true, true>(x, length, bins, counts) : count_all<false, true>(x, length, bins, counts);
  else
    absolute ? count_all<true, false>(x, length, bins, counts) : count_all<false, false>(x, length, bins, counts);
}

}  // namespace
}  // namespace quench

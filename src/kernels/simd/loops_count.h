// Histograms: the bins of a block are found in vectors, then counted up one by one. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"
#include "kernels/simd/simd_statistics.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace quench {
namespace {

constexpr int kCountBlock = 512;

template <bool kAbsolute>
QUENCH_LOOP std::int32_t bin_or_outside(float x, const Bins& bins) {
  const float v = kAbsolute ? __builtin_fabsf(x) : x;
  return static_cast<std::int32_t>(is_inside(v, bins) ? place_of(v, bins) : bins.last + 1.0F);
}

template <bool kAbsolute, bool kGrid>
QUENCH_LOOP void bins_of_block(const float* x, int length, Bins bins, std::int32_t* found) {
  bins.grid = kGrid;  // known before the loop
  QUENCH_NO_ALIAS
  for (int i = 0; i < length; ++i) found[i] = bin_or_outside<kAbsolute>(x[i], bins);
}

// Takes `usual` out of the block, in place, and gives the number of those that are left. A ReLU leaves half of a tensor
// in one bin, where each count would wait for the one before. Without an instruction for it, it does not pay.
QUENCH_LOOP int squeeze([[maybe_unused]] std::int32_t* found, int length, [[maybe_unused]] std::int32_t usual) {
#ifdef __AVX512F__
  int kept = 0;
  for (int i = 0; i < length; i += 16) {
    const __m512i some = _mm512_loadu_si512(found + i);  // a block has room for whole vectors
    const auto there = static_cast<__mmask16>(length - i >= 16 ? 0xFFFF : (1 << (length - i)) - 1);
    const __mmask16 others = _mm512_mask_cmpneq_epi32_mask(there, some, _mm512_set1_epi32(usual));
    _mm512_storeu_si512(found + kept, _mm512_maskz_compress_epi32(others, some));
    kept += __builtin_popcount(others);
  }
  return kept;
#else
  return length;
#endif
}

// The copies take turns, beginning with the first. Two bins are fetched at once: fetching costs as much as counting.
QUENCH_LOOP void count_block(const std::int32_t* found, int length, std::uint16_t* first, std::uint16_t* second) {
  int i = 0;
  for (; i + 8 <= length; i += 8)
    for (int k = 0; k < 8; k += 2) {
      std::uint64_t pair = 0;
      __builtin_memcpy(&pair, found + i + k, sizeof pair);
      ++first[static_cast<std::uint32_t>(pair)];
      ++second[pair >> 32];
    }
  for (; i < length; ++i) ++(i % 2 == 0 ? first : second)[found[i]];
}

template <bool kAbsolute, bool kGrid>
QUENCH_LOOP void count_all(const float* x, std::int64_t length, const Bins& bins, std::uint16_t* counts) {
  static_assert(kCountCopies == 2);
  alignas(64) std::int32_t found[kCountBlock];
  std::uint16_t* second = counts + static_cast<int>(bins.last) + 2;
  const std::int32_t usual = bin_or_outside<kAbsolute>(0.0F, bins);
  for (std::int64_t at = 0; at < length; at += kCountBlock) {
    const auto block = static_cast<int>(least(kCountBlock, length - at));
    bins_of_block<kAbsolute, kGrid>(x + at, block, bins, found);
    const int kept = squeeze(found, block, usual), out = block - kept;
    count_block(found, kept, counts, second);
    counts[usual] += static_cast<std::uint16_t>(out / 2);  // the odd one of the others went to the first copy
    second[usual] += static_cast<std::uint16_t>(out - out / 2);
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

// Histograms: the bins of a block are found in vectors, then counted up one by one. Only for isa_*.cpp.
#pragma once

#include "kernels/simd/loops_each.h"
#include "kernels/simd/loops_range.h"
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

// Both at once, for bins on the grid that hold every value: a floor and a subtraction are all that is left.
template <bool kAbsolute>
QUENCH_LOOP int others_of_block(const float* x, int length, const Bins& bins, std::int32_t usual, std::int32_t* found) {
#ifdef __AVX512F__
  const __m512 factor = _mm512_set1_ps(bins.factor);
  const __m512i first = _mm512_set1_epi32(static_cast<std::int32_t>(bins.shrunk_low));
  const __m512i most = _mm512_set1_epi32(usual);
  int kept = 0;
  const auto take = [&](__mmask16 there, int i) __attribute__((always_inline)) {
    __m512 v = _mm512_maskz_loadu_ps(there, x + i);
    if (kAbsolute) v = _mm512_abs_ps(v);
    const __m512i place = _mm512_cvt_roundps_epi32(_mm512_mul_ps(v, factor), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512i bin = _mm512_sub_epi32(place, first);
    const __mmask16 others = _mm512_mask_cmpneq_epi32_mask(there, bin, most);
    _mm512_storeu_si512(found + kept, _mm512_maskz_compress_epi32(others, bin));
    kept += __builtin_popcount(others);
  };
  int i = 0;
  for (; i + 16 <= length; i += 16) take(0xFFFF, i);
  if (i < length) take(static_cast<__mmask16>((1 << (length - i)) - 1), i);
  return kept;
#else
  bins_of_block<kAbsolute, true>(x, length, bins, found);
  return squeeze(found, length, usual);
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
    int kept = 0;
    if (kGrid && bins.all) {
      kept = others_of_block<kAbsolute>(x + at, block, bins, usual, found);
    } else {
      bins_of_block<kAbsolute, kGrid>(x + at, block, bins, found);
      kept = squeeze(found, block, usual);
    }
    const int out = block - kept;
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

// Whether the bins, on the grid, hold this range. Not if an end is NaN.
QUENCH_LOOP bool holds(const Bins& bins, float low, float high) {
  return low >= bins.low && __builtin_floorf(high * bins.factor) - bins.shrunk_low <= bins.last;
}

// Not so if one is NaN.
QUENCH_LOOP bool lie_between(const float* x, std::int64_t length, float low, float high) {
  std::int64_t i = 0;
#ifdef __AVX512F__
  const __m512 lows = _mm512_set1_ps(low), highs = _mm512_set1_ps(high);
  unsigned all = 0xFFFF;
  for (; i + 32 <= length; i += 32) {  // each comparison by itself: they would wait for one another
    const __m512 v = _mm512_loadu_ps(x + i), w = _mm512_loadu_ps(x + i + 16);
    const unsigned from = _mm512_cmp_ps_mask(v, lows, _CMP_GE_OQ) & _mm512_cmp_ps_mask(w, lows, _CMP_GE_OQ);
    const unsigned to = _mm512_cmp_ps_mask(v, highs, _CMP_LE_OQ) & _mm512_cmp_ps_mask(w, highs, _CMP_LE_OQ);
    all &= from & to;
  }
  if (all != 0xFFFF) return false;
#endif
  int outside = 0;
  for (; i < length; ++i) outside += x[i] >= low && x[i] <= high ? 0 : 1;
  return outside == 0;
}

// A block is in the nearest cache when it is counted: it was looked at just before. Most lie in the range of those
// before, and then that is all there is to see.
bool count_inside(const float* x, std::int64_t length, const Bins& bins, bool absolute, RangedCounts& found) {
  constexpr std::int64_t kBlock = 2 * kCountBlock;
  for (std::int64_t at = 0; at < length; at += kBlock) {
    const std::int64_t block = least(kBlock, length - at);
    if (!lie_between(x + at, block, found.min, found.max)) {
      float low = 0, high = 0;
      extremes_of_run(x + at, block, low, high);
      if (!(absolute ? holds(bins, 0.0F, -low > high ? -low : high) : holds(bins, low, high))) return false;
      found.min = low < found.min ? low : found.min;
      found.max = high > found.max ? high : found.max;
    }
    count(x + at, block, bins, absolute, found.counts);
  }
  return true;
}

}  // namespace
}  // namespace quench

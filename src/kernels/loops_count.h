// Histograms: the bins of a block are worked out in vectors, then counted one by one. Only for isa_*.cpp.
#pragma once

#include "kernels/loops_each.h"
#include "kernels/simd_statistics.h"

namespace quench {
namespace {

constexpr int kCountBlock = 512;

template <bool kAbsolute>
QUENCH_LOOP void bins_of_block(const float* x, int length, const Bins bins, std::int32_t* bin) {
  const float outside = bins.last + 1.0F;
  QUENCH_NO_ALIAS
  for (int i = 0; i < length; ++i) {
    const float v = kAbsolute ? __builtin_fabsf(x[i]) : x[i];
    const float place = is_inside(v, bins) ? place_of(v, bins) : outside;
    bin[i] = static_cast<std::int32_t>(place);
  }
}

template <int kCopies>
QUENCH_LOOP void count_block(const std::int32_t* bin, int length, std::uint32_t* counts) {
  int i = 0;
  for (; i + kCopies <= length; i += kCopies)
    for (int k = 0; k < kCopies; ++k) ++counts[bin[i + k] * kCopies + k];
  for (; i < length; ++i) ++counts[bin[i] * kCopies];
}

template <bool kAbsolute, int kCopies>
QUENCH_LOOP void count_all(const float* x, std::int64_t length, const Bins& bins, std::uint32_t* counts) {
  std::int32_t bin[kCountBlock];
  for (std::int64_t at = 0; at < length; at += kCountBlock) {
    const auto block = static_cast<int>(least(kCountBlock, length - at));
    bins_of_block<kAbsolute>(x + at, block, bins, bin);
    count_block<kCopies>(bin, block, counts);
  }
}

void count(const float* x, std::int64_t length, const Bins& bins, bool absolute, BinCounts to) {
  if (to.copies == 4)
    absolute ? count_all<true, 4>(x, length, bins, to.counts) : count_all<false, 4>(x, length, bins, to.counts);
  else
    absolute ? count_all<true, 1>(x, length, bins, to.counts) : count_all<false, 1>(x, length, bins, to.counts);
}

}  // namespace
}  // namespace quench

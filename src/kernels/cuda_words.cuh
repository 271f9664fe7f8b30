// QDrop's random words for the elements of one thread.
#pragma once

#include "kernels/cuda_each.cuh"

namespace quench {

// V is 1, or 4 with i a multiple of 4: then one call of Philox serves all four.
template <int V>
__device__ inline Pack<std::uint32_t, V> words_of(const DropCoin& coin, std::int64_t i) {
  const PhiloxWords four = drop_words(coin, static_cast<std::uint64_t>(i) / 4);
  Pack<std::uint32_t, V> words;
  if constexpr (V == 4) {
#pragma unroll
    for (int k = 0; k < 4; ++k) words.v[k] = four.word[k];
  } else {
    const int k = static_cast<int>(i & 3);
    const std::uint32_t low = k & 1 ? four.word[1] : four.word[0], high = k & 1 ? four.word[3] : four.word[2];
    words.v[0] = k & 2 ? high : low;
  }
  return words;
}

}  // namespace quench

// QDrop's coin (docs/numerics.md 5.11; Wei et al., 2022): element i of memory is quantized where word i % 4 of Philox
// call i / 4 says so.
#pragma once

#include "core/philox.h"

namespace quench {

struct DropCoin {
  std::uint32_t key0 = 0, key1 = 0;
  std::uint32_t threshold = 0;             // of 2^24
  const std::uint64_t* counter = nullptr;  // on the device: a further part of the key; absent, it is 0
};

inline DropCoin drop_coin(std::uint64_t seed, std::uint64_t node, std::uint64_t step, double prob) {
  const std::uint64_t key = random_bits(random_bits(seed, node), step);
  // u < prob with u = (bits >> 8) / 2^24 exactly when bits >> 8 is below prob * 2^24, rounded up.
  const double scaled = prob * 16777216.0;
  auto threshold = static_cast<std::uint32_t>(scaled);
  if (static_cast<double>(threshold) < scaled) ++threshold;
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), threshold, nullptr};
}

QUENCH_HD inline PhiloxWords drop_words(const DropCoin& coin, std::uint64_t call) {
  const std::uint64_t count = coin.counter ? *coin.counter : 0;
  return philox_words({{static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(call >> 32),
                        static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count >> 32)}},
                      coin.key0, coin.key1);
}

QUENCH_HD inline bool is_quantized(std::uint32_t word, const DropCoin& coin) { return word >> 8 < coin.threshold; }

}  // namespace quench

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): random numbers that
// are a function of a key and a counter alone, the same on every machine and in every order of asking.
#pragma once

#include <array>
#include <cstdint>

#include "core/host_device.h"

namespace quench {

constexpr int kPhiloxRounds = 10;
constexpr std::uint32_t kPhiloxMul0 = 0xD2511F53, kPhiloxMul1 = 0xCD9E8D57;
constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;

struct PhiloxWords {
  std::uint32_t word[4];
};

QUENCH_HD inline PhiloxWords philox_words(PhiloxWords c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxMul0} * c.word[0];
    const std::uint64_t b = std::uint64_t{kPhiloxMul1} * c.word[2];
    c = {{static_cast<std::uint32_t>(b >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return c;
}

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  const PhiloxWords w = philox_words({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
  return {w.word[0], w.word[1], w.word[2], w.word[3]};
}

// 64 random bits: number `index` of the stream that `seed` names.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  const auto words = philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0},
                            {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return std::uint64_t{words[1]} << 32 | words[0];
}

}  // namespace quench

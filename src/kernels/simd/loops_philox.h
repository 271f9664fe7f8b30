// Philox for a block of elements at once. Only for isa_*.cpp.
//
// A counter's words sit in the low halves of 64-bit lanes, where one multiply instruction gives the whole
// product; the upper halves hold what is left over and never matter. Lanes are numbered so that two unpack
// instructions at the end leave the words in the order of memory.
#pragma once

#include "kernels/simd/loops_each.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quench {
namespace {

constexpr std::int64_t kDropBlock = kChunk / 2;
constexpr std::int64_t kDropSlack = 128;  // words made beyond what was asked for

#if defined(__AVX512F__) || defined(__AVX2__)

#if defined(__AVX512F__)
using Wide = __m512i;
constexpr int kWide = 8;
#define QUENCH_LANE_ORDER {0, 4, 1, 5, 2, 6, 3, 7}
QUENCH_LOOP Wide multiply(Wide a, Wide b) { return _mm512_mul_epu32(a, b); }
QUENCH_LOOP Wide unpack_low(Wide a, Wide b) { return _mm512_unpacklo_epi64(a, b); }
QUENCH_LOOP Wide unpack_high(Wide a, Wide b) { return _mm512_unpackhi_epi64(a, b); }
QUENCH_LOOP void store(std::uint32_t* to, Wide a) { _mm512_storeu_si512(to, a); }
#else
using Wide = __m256i;
constexpr int kWide = 4;
#define QUENCH_LANE_ORDER {0, 2, 1, 3}
QUENCH_LOOP Wide multiply(Wide a, Wide b) { return _mm256_mul_epu32(a, b); }
QUENCH_LOOP Wide unpack_low(Wide a, Wide b) { return _mm256_unpacklo_epi64(a, b); }
QUENCH_LOOP Wide unpack_high(Wide a, Wide b) { return _mm256_unpackhi_epi64(a, b); }
QUENCH_LOOP void store(std::uint32_t* to, Wide a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a); }
#endif

using Lane64 __attribute__((vector_size(sizeof(Wide)))) = std::uint64_t;
QUENCH_LOOP Lane64 product(Lane64 a, std::uint64_t b) {
  return reinterpret_cast<Lane64>(multiply(reinterpret_cast<Wide>(a), reinterpret_cast<Wide>(Lane64{} + b)));
}

struct PhiloxLanes {
  Lane64 c0, c1, c2, c3;
};

QUENCH_LOOP PhiloxLanes first_lanes(std::uint64_t call) {
  const Lane64 index = Lane64 QUENCH_LANE_ORDER + call;
  return {index, index >> 32, Lane64{}, Lane64{}};
}

QUENCH_LOOP PhiloxLanes next_lanes(const PhiloxLanes& s, std::uint32_t key0, std::uint32_t key1) {
  const Lane64 a = product(s.c0, kPhiloxMul0), b = product(s.c2, kPhiloxMul1);
  return {(b >> 32) ^ s.c1 ^ key0, b, (a >> 32) ^ s.c3 ^ key1, a};
}

QUENCH_LOOP void store_lanes(const PhiloxLanes& s, std::uint32_t* words) {
  const Lane64 low = (s.c0 & 0xffffffffU) | (s.c1 << 32), high = (s.c2 & 0xffffffffU) | (s.c3 << 32);
  store(words, unpack_low(reinterpret_cast<Wide>(low), reinterpret_cast<Wide>(high)));
  store(words + 2 * kWide, unpack_high(reinterpret_cast<Wide>(low), reinterpret_cast<Wide>(high)));
}

// kCalls calls from `call` on. Two vectors at a time: the rounds of one depend on each other.
constexpr int kCalls = 2 * kWide;
QUENCH_LOOP void drop_words_wide(const DropCoin& coin, std::uint64_t call, std::uint32_t* words) {
  PhiloxLanes one = first_lanes(call), two = first_lanes(call + kWide);
  std::uint32_t key0 = coin.key0, key1 = coin.key1;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    one = next_lanes(one, key0, key1);
    two = next_lanes(two, key0, key1);
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  store_lanes(one, words);
  store_lanes(two, words + 4 * kWide);
}

#else

constexpr int kCalls = 1;
QUENCH_LOOP void drop_words_wide(const DropCoin& coin, std::uint64_t call, std::uint32_t* words) {
  const PhiloxWords four = drop_words(coin, call);
  for (int k = 0; k < 4; ++k) words[k] = four.word[k];
}

#endif

// The words of elements [begin, end): that of element i is words[i - begin / 4 * 4].
QUENCH_LOOP void fill_words(const DropCoin& coin, std::int64_t begin, std::int64_t end, std::uint32_t* words) {
  const std::int64_t first = begin / 4;
  for (std::int64_t call = first; call * 4 < end; call += kCalls)
    drop_words_wide(coin, static_cast<std::uint64_t>(call), words + (call - first) * 4);
}

}  // namespace
}  // namespace quench

// Philox for a block of elements at once. Only for isa_*.cpp.
//
// A counter's words sit in the low halves of 64-bit lanes, where one multiply instruction gives the whole
// product; the upper halves hold what is left over and never matter. Lanes are numbered so that two unpack
// instructions at the end leave the words in the order of memory.
#pragma once

#include "kernels/loops_each.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quench {
namespace {

constexpr std::int64_t kDropBlock = kChunk / 2;
constexpr std::int64_t kDropSlack = 64;  // words made beyond what was asked for

#if defined(__AVX512F__) || defined(__AVX2__)

#if defined(__AVX512F__)
using Wide = __m512i;
constexpr int kWide = 8;
QUENCH_LOOP Wide multiply(Wide a, Wide b) { return _mm512_mul_epu32(a, b); }
QUENCH_LOOP Wide unpack_low(Wide a, Wide b) { return _mm512_unpacklo_epi64(a, b); }
QUENCH_LOOP Wide unpack_high(Wide a, Wide b) { return _mm512_unpackhi_epi64(a, b); }
QUENCH_LOOP void store(std::uint32_t* to, Wide a) { _mm512_storeu_si512(to, a); }
#else
using Wide = __m256i;
constexpr int kWide = 4;
QUENCH_LOOP Wide multiply(Wide a, Wide b) { return _mm256_mul_epu32(a, b); }
QUENCH_LOOP Wide unpack_low(Wide a, Wide b) { return _mm256_unpacklo_epi64(a, b); }
QUENCH_LOOP Wide unpack_high(Wide a, Wide b) { return _mm256_unpackhi_epi64(a, b); }
QUENCH_LOOP void store(std::uint32_t* to, Wide a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), a); }
#endif

using Lane64 __attribute__((vector_size(sizeof(Wide)))) = std::uint64_t;
QUENCH_LOOP Lane64 product(Lane64 a, std::uint64_t b) {
  return reinterpret_cast<Lane64>(multiply(reinterpret_cast<Wide>(a), reinterpret_cast<Wide>(Lane64{} + b)));
}

// kWide calls from `call` on: 4 kWide words.
QUENCH_LOOP void drop_words_wide(const DropCoin& coin, std::uint64_t call, std::uint32_t* words) {
  Lane64 index;
  for (int lane = 0; lane < kWide; ++lane) index[lane] = call + lane / 2 + (lane % 2) * (kWide / 2);
  Lane64 c0 = index, c1 = index >> 32, c2 = {}, c3 = {};
  std::uint32_t key0 = coin.key0, key1 = coin.key1;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Lane64 a = product(c0, kPhiloxMul0), b = product(c2, kPhiloxMul1);
    c0 = (b >> 32) ^ c1 ^ key0;
    c1 = b;
    c2 = (a >> 32) ^ c3 ^ key1;
    c3 = a;
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  const Lane64 low = (c0 & 0xffffffffU) | (c1 << 32), high = (c2 & 0xffffffffU) | (c3 << 32);
  store(words, unpack_low(reinterpret_cast<Wide>(low), reinterpret_cast<Wide>(high)));
  store(words + 2 * kWide, unpack_high(reinterpret_cast<Wide>(low), reinterpret_cast<Wide>(high)));
}

#else

constexpr int kWide = 1;
QUENCH_LOOP void drop_words_wide(const DropCoin& coin, std::uint64_t call, std::uint32_t* words) {
  const PhiloxWords four = drop_words(coin, call);
  for (int k = 0; k < 4; ++k) words[k] = four.word[k];
}

#endif

// The words of elements [begin, end): that of element i is words[i - begin / 4 * 4].
QUENCH_LOOP void fill_words(const DropCoin& coin, std::int64_t begin, std::int64_t end, std::uint32_t* words) {
  const std::int64_t first = begin / 4;
  for (std::int64_t call = first; call * 4 < end; call += kWide)
    drop_words_wide(coin, static_cast<std::uint64_t>(call), words + (call - first) * 4);
}

}  // namespace
}  // namespace quench

// From int32 sums to codes of 8 bits, in registers. For files that are compiled for AVX-512 alone.
#pragma once

#include <immintrin.h>

#include "engine/simd/byte_loops.h"

#define QUENCH_INLINE __attribute__((always_inline)) inline

namespace quench {
namespace {

// What a loop is compiled for. Bare: unsigned input, and results that saturating to a byte brings into bounds, without
// a zero point. That is what a ReLU leaves, and by far the most common.
enum class Kind { kBare, kUnsigned, kSigned };

inline Kind kind_of(const ByteResult& r, bool input_is_signed) {
  if (input_is_signed) return Kind::kSigned;
  const bool saturates = !r.is_signed && r.zero_point == 0 && r.low <= 0 && r.high >= 255;
  return saturates ? Kind::kBare : Kind::kUnsigned;
}

struct ByteCodes {
  __m512 zero_before;
  __m512i zero_after, low, high;
  bool zero_first, is_signed;

  explicit ByteCodes(const ByteResult& r)
      : zero_before(_mm512_set1_ps(static_cast<float>(r.zero_first ? r.zero_point : 0))),
        zero_after(_mm512_set1_epi16(static_cast<short>(r.zero_first ? 0 : r.zero_point))),
        low(_mm512_set1_epi8(static_cast<char>(r.low))),
        high(_mm512_set1_epi8(static_cast<char>(r.high))),
        zero_first(r.zero_first),
        is_signed(r.is_signed) {}

  template <Kind kind>
  QUENCH_INLINE __m512i steps(__m512i sum, __m512 multiplier) const {
    __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
    if (kind != Kind::kBare && zero_first) value = _mm512_add_ps(value, zero_before);
    return _mm512_cvtps_epi32(value);
  }
  // Four vectors of steps to 64 codes: in each lane of 128 bits four of a, of b, of c and of d. Saturation at 16 bits
  // changes nothing that the bounds of a byte do not hide.
  template <Kind kind>
  QUENCH_INLINE __m512i pack(__m512i a, __m512i b, __m512i c, __m512i d) const {
    if (kind == Kind::kBare) return _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_after);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero_after);
    if (is_signed) return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(first, second), low), high);
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(first, second), low), high);
  }
};

}  // namespace
}  // namespace quench

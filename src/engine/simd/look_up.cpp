#include "engine/simd/look_up.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace quench {
namespace {

void look_up_plain(const std::uint8_t* table, const ByteRows& rows, const std::uint8_t* from, std::uint8_t* to) {
  for (std::int64_t row = 0; row < rows.count; ++row, from += rows.from_step, to += rows.to_step)
    for (std::int64_t i = 0; i < rows.width; ++i) to[i] = table[from[i]];
}

#ifdef __x86_64__
// One instruction looks 64 bytes up in 128 entries; which half counts is the top bit of each byte.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void look_up_vbmi(const std::uint8_t* table,
                                                                         const ByteRows& rows, const std::uint8_t* from,
                                                                         std::uint8_t* to) {
  const __m512i quarter0 = _mm512_loadu_si512(table), quarter1 = _mm512_loadu_si512(table + 64);
  const __m512i quarter2 = _mm512_loadu_si512(table + 128), quarter3 = _mm512_loadu_si512(table + 192);
  for (std::int64_t row = 0; row < rows.count; ++row, from += rows.from_step, to += rows.to_step)
    for (std::int64_t i = 0; i < rows.width; i += 64) {
      const std::int64_t left = rows.width - i;
      const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
      const __m512i codes = _mm512_maskz_loadu_epi8(mask, from + i);
      const __m512i low = _mm512_permutex2var_epi8(quarter0, codes, quarter1);
      const __m512i high = _mm512_permutex2var_epi8(quarter2, codes, quarter3);
      _mm512_mask_storeu_epi8(to + i, mask, _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high));
    }
}
#endif

}  // namespace

void look_up(const std::uint8_t* table, const ByteRows& rows, const std::uint8_t* from, std::uint8_t* to) {
#ifdef __x86_64__
  static const bool fast = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
  if (fast) return look_up_vbmi(table, rows, from, to);
#endif
  look_up_plain(table, rows, from, to);
}

}  // namespace quench

// Compiled for AVX-512 with VNNI, without contraction. Nothing of the standard library: see kernels/simd/simd.h.
#include <immintrin.h>

#include "engine/simd/byte_loops.h"

namespace quench {
namespace {

__mmask16 tail16(std::int64_t left) {
  return left >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1U << left) - 1U);
}

__mmask64 tail64(std::int64_t left) { return left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1; }

// What a result is clamped to before it is rounded: in steps, without the zero point or with it.
struct Bounds {
  __m512 low, high;
  __m512i zero_after;
  __m512 zero_before;
};
Bounds bounds_of(const ByteResult& r) {
  const int shift = r.zero_first ? 0 : r.zero_point;
  return {_mm512_set1_ps(static_cast<float>(r.low - shift)), _mm512_set1_ps(static_cast<float>(r.high - shift)),
          _mm512_set1_epi32(shift), _mm512_set1_ps(static_cast<float>(r.zero_first ? r.zero_point : 0))};
}

template <bool zero_first>
__attribute__((always_inline)) inline __m512i finish(__m512i sum, __m512 multiplier, const Bounds& b) {
  __m512 steps = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
  if (zero_first) steps = _mm512_add_ps(steps, b.zero_before);
  steps = _mm512_min_ps(_mm512_max_ps(steps, b.low), b.high);
  const __m512i rounded = _mm512_cvtps_epi32(steps);
  return zero_first ? rounded : _mm512_add_epi32(rounded, b.zero_after);
}

template <bool zero_first>
void requantize_rows(const ByteResult& r, std::int64_t rows, std::int64_t channels, const std::int32_t* sums,
                     std::uint8_t* codes) {
  const Bounds bounds = bounds_of(r);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < channels; c += 16) {
      const __mmask16 mask = tail16(channels - c);
      const std::int64_t at = row * channels + c;
      const __m512i sum =
          _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, sums + at), _mm512_maskz_loadu_epi32(mask, r.bias + c));
      const __m512i code = finish<zero_first>(sum, _mm512_maskz_loadu_ps(mask, r.multiplier + c), bounds);
      _mm512_mask_cvtepi32_storeu_epi8(codes + at, mask, code);
    }
}

void requantize(const ByteResult& r, std::int64_t rows, std::int64_t channels, const std::int32_t* sums,
                std::uint8_t* codes) {
  (r.zero_first ? requantize_rows<true> : requantize_rows<false>)(r, rows, channels, sums, codes);
}

struct Quantizing {
  __m512 scale, inverse, low, high;
  __m512i zero;
  bool divide;

  explicit Quantizing(const ByteQuantizer& q)
      : scale(_mm512_set1_ps(q.scale)),
        inverse(_mm512_set1_ps(1.0F / q.scale)),
        low(_mm512_set1_ps(static_cast<float>(q.low - q.zero_point))),
        high(_mm512_set1_ps(static_cast<float>(q.high - q.zero_point))),
        zero(_mm512_set1_epi32(q.zero_point)),
        divide(q.divide) {}

  __attribute__((always_inline)) __m512i operator()(__m512 value) const {
    __m512 steps = divide ? _mm512_div_ps(value, scale) : _mm512_mul_ps(value, inverse);
    const __mmask16 number = _mm512_cmp_ps_mask(steps, steps, _CMP_ORD_Q);
    steps = _mm512_maskz_min_ps(number, _mm512_max_ps(steps, low), high);  // NaN: the zero point's code
    return _mm512_add_epi32(_mm512_cvtps_epi32(steps), zero);
  }
};

void quantize(const ByteQuantizer& q, std::int64_t count, const float* x, std::uint8_t* codes) {
  const Quantizing code(q);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = tail16(count - i);
    _mm512_mask_cvtepi32_storeu_epi8(codes + i, mask, code(_mm512_maskz_loadu_ps(mask, x + i)));
  }
}

void quantize_pixels(const ByteQuantizer& q, std::int64_t count, const float* const planes[3], std::uint8_t* codes) {
  const Quantizing code(q);
  const __m512i byte = _mm512_set1_epi32(0xFF);
  // Of four pixels of four bytes the three that count, then the four lanes beside each other.
  const __m512i keep = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m512i close = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = tail16(count - i);
    __m512i pixel = _mm512_setzero_si512();
    for (int c = 2; c >= 0; --c)
      pixel = _mm512_or_si512(_mm512_slli_epi32(pixel, 8),
                              _mm512_and_si512(code(_mm512_maskz_loadu_ps(mask, planes[c] + i)), byte));
    const __m512i packed = _mm512_permutexvar_epi32(close, _mm512_shuffle_epi8(pixel, keep));
    const std::int64_t bytes = 3 * (count - i < 16 ? count - i : 16);
    _mm512_mask_storeu_epi8(codes + 3 * i, tail64(bytes), packed);
  }
}

template <bool is_signed>
__attribute__((always_inline)) inline __m512i widen(__m128i codes) {
  return is_signed ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes);
}

template <bool a_signed, bool b_signed>
void add_codes(const ByteSum& s, std::int64_t count, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y) {
  const __m512 ra = _mm512_set1_ps(s.a_ratio), rb = _mm512_set1_ps(s.b_ratio), constant = _mm512_set1_ps(s.constant);
  const __m512 low = _mm512_set1_ps(static_cast<float>(s.low)), high = _mm512_set1_ps(static_cast<float>(s.high));
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = tail16(count - i);
    const __m512 va = _mm512_cvtepi32_ps(widen<a_signed>(_mm_maskz_loadu_epi8(mask, a + i)));
    const __m512 vb = _mm512_cvtepi32_ps(widen<b_signed>(_mm_maskz_loadu_epi8(mask, b + i)));
    __m512 steps = _mm512_fmadd_ps(va, ra, _mm512_fmadd_ps(vb, rb, constant));
    steps = _mm512_min_ps(_mm512_max_ps(steps, low), high);
    _mm512_mask_cvtepi32_storeu_epi8(y + i, mask, _mm512_cvtps_epi32(steps));
  }
}

void add(const ByteSum& s, std::int64_t count, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y) {
  if (s.a_signed) return (s.b_signed ? add_codes<true, true> : add_codes<true, false>)(s, count, a, b, y);
  (s.b_signed ? add_codes<false, true> : add_codes<false, false>)(s, count, a, b, y);
}

template <bool is_signed>
void sum_pixels(std::int64_t rows, std::int64_t channels, const std::uint8_t* codes, std::int32_t* sums) {
  for (std::int64_t c = 0; c < channels; c += 16) {
    const __mmask16 mask = tail16(channels - c);
    __m512i sum = _mm512_setzero_si512();
    for (std::int64_t row = 0; row < rows; ++row)
      sum = _mm512_add_epi32(sum, widen<is_signed>(_mm_maskz_loadu_epi8(mask, codes + row * channels + c)));
    _mm512_mask_storeu_epi32(sums + c, mask, sum);
  }
}

void sum_rows(std::int64_t rows, std::int64_t channels, bool is_signed, const std::uint8_t* codes, std::int32_t* sums) {
  (is_signed ? sum_pixels<true> : sum_pixels<false>)(rows, channels, codes, sums);
}

}  // namespace

const ByteLoops& byte_loops() {
  static const ByteLoops loops = {requantize, quantize, quantize_pixels, add, sum_rows};
  return loops;
}

}  // namespace quench

// Compiled for AVX-512 with VNNI, without contraction. Nothing of the standard library: see kernels/simd/simd.h.
#include <immintrin.h>

#include "engine/simd/byte_loops.h"

namespace quench {
namespace {

__mmask16 tail16(std::int64_t left) {
  return left >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1U << left) - 1U);
}
constexpr std::int64_t kPairedChannels = 32;  // so few of the last block: two pixels share a register

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

// 64 channels of one column of the input: three rows and a zero interleaved, byte by byte, so that one instruction
// multiplies and adds all three. Unpacking permutes channels within 128-bit lanes; packing the result undoes it.
struct Column {
  __m512i part[4];
};

__attribute__((always_inline)) inline Column interleave(__m512i r0, __m512i r1, __m512i r2) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i low01 = _mm512_unpacklo_epi8(r0, r1), high01 = _mm512_unpackhi_epi8(r0, r1);
  const __m512i low2 = _mm512_unpacklo_epi8(r2, zero), high2 = _mm512_unpackhi_epi8(r2, zero);
  return {{_mm512_unpacklo_epi16(low01, low2), _mm512_unpackhi_epi16(low01, low2), _mm512_unpacklo_epi16(high01, high2),
           _mm512_unpackhi_epi16(high01, high2)}};
}

struct Block {
  const DepthwiseRow& row;
  std::int64_t channel;
  __mmask64 mask;
  __m512i flip, padding;  // signed codes become unsigned ones by their top bit

  __attribute__((always_inline)) __m256i half(int k, std::int64_t x) const {
    if (!row.rows[k] || x < 0 || x >= row.input_width) return _mm512_castsi512_si256(padding);
    const __m256i codes =
        _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), row.rows[k] + x * row.channels + channel);
    return _mm256_xor_si256(codes, _mm512_castsi512_si256(flip));
  }

  // At most 32 channels of two pixels, `apart` from each other.
  __attribute__((always_inline)) Column pair(std::int64_t x, std::int64_t apart) const {
    __m512i rows[3];
    for (int k = 0; k < 3; ++k) rows[k] = _mm512_inserti64x4(_mm512_castsi256_si512(half(k, x)), half(k, x + apart), 1);
    return interleave(rows[0], rows[1], rows[2]);
  }

  __attribute__((always_inline)) Column column(std::int64_t x) const {
    __m512i rows[3];
    for (int k = 0; k < 3; ++k) {
      const bool inside = row.rows[k] && x >= 0 && x < row.input_width;
      rows[k] = inside ? _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, row.rows[k] + x * row.channels + channel), flip)
                       : padding;
    }
    return interleave(rows[0], rows[1], rows[2]);
  }
};

// Channels in the order of a Column, for a part of 16.
__attribute__((always_inline)) inline __m512 permuted(const float* values, int part) {
  const __m512 p = _mm512_castps128_ps512(_mm_loadu_ps(values + 4 * part));
  const __m512 q = _mm512_insertf32x4(p, _mm_loadu_ps(values + 16 + 4 * part), 1);
  const __m512 r = _mm512_insertf32x4(q, _mm_loadu_ps(values + 32 + 4 * part), 2);
  return _mm512_insertf32x4(r, _mm_loadu_ps(values + 48 + 4 * part), 3);
}
__attribute__((always_inline)) inline __m512i permuted(const std::int32_t* values, int part) {
  return _mm512_castps_si512(permuted(reinterpret_cast<const float*>(values), part));
}

// Parts of 16 results of one pixel to 64 codes: saturating packs clamp to bytes, what is narrower comes last. Packing
// puts the channels back in order.
struct ClampedPack {
  __m512 zero_before;
  __m512i zero_after, low, high;
  bool is_signed;

  explicit ClampedPack(const ByteResult& r)
      : zero_before(_mm512_set1_ps(static_cast<float>(r.zero_first ? r.zero_point : 0))),
        zero_after(_mm512_set1_epi32(r.zero_first ? 0 : r.zero_point)),
        low(_mm512_set1_epi8(static_cast<char>(r.low))),
        high(_mm512_set1_epi8(static_cast<char>(r.high))),
        is_signed(r.is_signed) {}

  template <bool zero_first>
  __attribute__((always_inline)) __m512i code(__m512i sum, __m512 multiplier) const {
    const __m512 steps = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier);
    if (zero_first) return _mm512_cvtps_epi32(_mm512_add_ps(steps, zero_before));
    return _mm512_add_epi32(_mm512_cvtps_epi32(steps), zero_after);
  }
  __attribute__((always_inline)) __m512i pack(const __m512i* code) const {
    const __m512i first = _mm512_packs_epi32(code[0], code[1]), second = _mm512_packs_epi32(code[2], code[3]);
    if (is_signed) return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(first, second), low), high);
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(first, second), low), high);
  }
};

template <bool zero_first, int stride>
void depthwise_block(const Block& block, const ClampedPack& result, std::uint8_t* codes) {
  const DepthwiseRow& row = block.row;
  const auto* w = reinterpret_cast<const __m512i*>(row.weights + block.channel * 12);
  __m512 multiplier[4];
  __m512i bias[4];
  for (int p = 0; p < 4; ++p) {
    multiplier[p] = permuted(row.result.multiplier + block.channel, p);
    bias[p] = permuted(row.result.bias + block.channel, p);
  }
  std::int64_t x = -row.left;
  Column a = block.column(x), b = block.column(x + 1);
  for (std::int64_t o = 0; o < row.output_width; ++o, x += stride) {
    const Column c = block.column(x + 2);
    __m512i code[4];
    for (int p = 0; p < 4; ++p) {
      __m512i sum = _mm512_dpbusd_epi32(bias[p], a.part[p], w[p]);
      sum = _mm512_dpbusd_epi32(sum, b.part[p], w[4 + p]);
      sum = _mm512_dpbusd_epi32(sum, c.part[p], w[8 + p]);
      code[p] = result.code<zero_first>(sum, multiplier[p]);
    }
    _mm512_mask_storeu_epi8(codes + o * row.channels + block.channel, block.mask, result.pack(code));
    if (stride == 1) {
      a = b;
      b = c;
    } else {
      a = c;
      b = block.column(x + 3);
    }
  }
}

// The same with the results of two neighbouring pixels in one register.
template <bool zero_first, int stride>
void depthwise_pairs(const Block& block, const ClampedPack& result, std::uint8_t* codes) {
  const DepthwiseRow& row = block.row;
  const auto* w = reinterpret_cast<const __m512i*>(row.weights + block.channel * 12);
  const auto twice = [](__m512i values) { return _mm512_inserti64x4(values, _mm512_castsi512_si256(values), 1); };
  __m512 multiplier[4];
  __m512i bias[4];
  for (int p = 0; p < 4; ++p) {
    multiplier[p] = _mm512_castsi512_ps(twice(_mm512_castps_si512(permuted(row.result.multiplier + block.channel, p))));
    bias[p] = twice(permuted(row.result.bias + block.channel, p));
  }
  const auto mask = static_cast<__mmask32>(block.mask);
  std::int64_t x = -row.left;
  Column a = block.pair(x, stride);
  for (std::int64_t o = 0; o < row.output_width; o += 2, x += 2 * stride) {
    const Column b = block.pair(x + 1, stride), c = block.pair(x + 2, stride);
    __m512i code[4];
    for (int p = 0; p < 4; ++p) {
      __m512i sum = _mm512_dpbusd_epi32(bias[p], a.part[p], w[p]);
      sum = _mm512_dpbusd_epi32(sum, b.part[p], w[4 + p]);
      sum = _mm512_dpbusd_epi32(sum, c.part[p], w[8 + p]);
      code[p] = result.code<zero_first>(sum, multiplier[p]);
    }
    const __m512i both = result.pack(code);
    std::uint8_t* to = codes + o * row.channels + block.channel;
    _mm256_mask_storeu_epi8(to, mask, _mm512_castsi512_si256(both));
    if (o + 1 < row.output_width) _mm256_mask_storeu_epi8(to + row.channels, mask, _mm512_extracti64x4_epi64(both, 1));
    a = stride == 1 ? c : block.pair(x + 4, stride);
  }
}

template <bool zero_first, int stride>
void depthwise_channels(const DepthwiseRow& row, std::uint8_t* codes) {
  const ClampedPack result(row.result);
  const __m512i flip = _mm512_set1_epi8(row.is_signed ? static_cast<char>(0x80) : 0);
  const __m512i padding = _mm512_xor_si512(_mm512_set1_epi8(static_cast<char>(row.padding)), flip);
  for (std::int64_t c = 0; c < row.channels; c += 64) {
    const Block block{row, c, tail64(row.channels - c), flip, padding};
    if (row.channels - c <= kPairedChannels)
      depthwise_pairs<zero_first, stride>(block, result, codes);
    else
      depthwise_block<zero_first, stride>(block, result, codes);
  }
}

void depthwise(const DepthwiseRow& row, std::uint8_t* codes) {
  const auto run = row.result.zero_first
                       ? (row.stride == 1 ? depthwise_channels<true, 1> : depthwise_channels<true, 2>)
                       : (row.stride == 1 ? depthwise_channels<false, 1> : depthwise_channels<false, 2>);
  run(row, codes);
}

}  // namespace

const ByteLoops& byte_loops() {
  static const ByteLoops loops = {requantize, quantize, quantize_pixels, add, sum_rows, depthwise};
  return loops;
}

std::int64_t packed_depthwise_bytes(std::int64_t channels) { return (channels + 63) / 64 * 64 * 12; }

void pack_depthwise(std::int64_t channels, const std::int8_t* weights, std::int8_t* packed) {
  const std::int64_t bytes = packed_depthwise_bytes(channels);
  for (std::int64_t i = 0; i < bytes; ++i) packed[i] = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    // Where unpacking puts channel c: lane, part, and place in the part's lane.
    const std::int64_t block = c / 64, within = c % 64, lane = within / 16, part = within % 16 / 4, place = within % 4;
    const bool paired = channels - block * 64 <= kPairedChannels;
    for (std::int64_t kx = 0; kx < 3; ++kx)
      for (std::int64_t ky = 0; ky < 3; ++ky) {
        std::int8_t* to = packed + block * 768 + (kx * 4 + part) * 64 + lane * 16 + place * 4 + ky;
        to[0] = weights[c * 9 + ky * 3 + kx];
        if (paired) to[32] = to[0];  // two lanes on: the other pixel
      }
  }
}

}  // namespace quench

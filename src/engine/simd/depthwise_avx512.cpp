// Compiled for AVX-512 with VNNI, without contraction. Nothing of the standard library: see kernels/simd/simd.h.
//
// The bytes of up to four rows of the input are interleaved, so that one instruction multiplies and adds a column of
// the kernel: rows 0 to 2 for the results, and by weights that are shifted by a byte rows 1 to 3 for those below.
#include "engine/simd/depthwise.h"

#include "engine/simd/byte_codes_avx512.h"

namespace quench {
namespace {

// What lies in a register: 64 channels of a pixel; or 32 channels of two pixels, which may lie beside each other
// (twins: there are 32 channels in all).
enum class Shape { kWide, kPair, kTwins };

struct Blocks {
  std::int64_t channels, wide, count;
  explicit Blocks(std::int64_t of)
      : channels(of), wide(of % 64 > 32 && of > 64 ? of / 64 + 1 : of / 64), count(wide + rest()) {}
  // Blocks of 32: what is left over; or two, of fewer than 64 channels.
  std::int64_t rest() const {
    if (channels < 64) return channels > 32 ? 2 : 1;
    return channels % 64 > 0 && channels % 64 <= 32 ? 1 : 0;
  }
  std::int64_t first(std::int64_t block) const {
    const std::int64_t size = block < wide ? 64 : 32;
    const std::int64_t at = block < wide ? block * 64 : wide * 64 + (block - wide) * 32;
    return at + size <= channels || channels < size ? at : channels - size;
  }
};

// 64 bytes of one column of the input, all rows interleaved. Unpacking permutes channels within 128-bit lanes; packing
// the result undoes it.
struct Column {
  __m512i part[4];
};

QUENCH_INLINE Column interleave(__m512i r0, __m512i r1, __m512i r2, __m512i r3) {
  const __m512i low01 = _mm512_unpacklo_epi8(r0, r1), high01 = _mm512_unpackhi_epi8(r0, r1);
  const __m512i low23 = _mm512_unpacklo_epi8(r2, r3), high23 = _mm512_unpackhi_epi8(r2, r3);
  return {{_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
           _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)}};
}

template <Shape shape, int stride, int count, Kind kind>
struct Block {
  const DepthwiseRows& rows;
  std::int64_t channel;
  __mmask32 mask;  // of a pair

  QUENCH_INLINE const std::uint8_t* at(int k, std::int64_t x) const { return rows.row[k] + x * rows.step[k] + channel; }
  QUENCH_INLINE const std::uint8_t* checked(int k, std::int64_t x) const {
    return x >= 0 && x < rows.input_width ? at(k, x) : rows.padding;
  }
  QUENCH_INLINE __m512i pair(const std::uint8_t* first, const std::uint8_t* second) const {
    const __m512i low = _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(mask, first));
    return _mm512_inserti64x4(low, _mm256_maskz_loadu_epi8(mask, second), 1);
  }
  template <bool inside>
  QUENCH_INLINE __m512i load(int k, std::int64_t x) const {
    __m512i codes;
    if (shape == Shape::kWide) {
      codes = _mm512_loadu_si512(inside ? at(k, x) : checked(k, x));
    } else if (shape == Shape::kTwins && inside) {
      codes = _mm512_loadu_si512(at(k, x));
    } else {
      codes = inside ? pair(at(k, x), at(k, x + stride)) : pair(checked(k, x), checked(k, x + stride));
    }
    return kind == Kind::kSigned ? _mm512_xor_si512(codes, _mm512_set1_epi8(static_cast<char>(0x80))) : codes;
  }
  template <bool inside>
  QUENCH_INLINE Column load_column(std::int64_t x) const {
    const __m512i last = count == 2 ? load<inside>(3, x) : _mm512_setzero_si512();
    return interleave(load<inside>(0, x), load<inside>(1, x), load<inside>(2, x), last);
  }
  QUENCH_INLINE Column column(std::int64_t x) const {
    const std::int64_t reach = shape == Shape::kWide ? 0 : stride;
    return x >= 0 && x + reach < rows.input_width ? load_column<true>(x) : load_column<false>(x);
  }
};

// Whole vectors are stored as they are: stores with a mask are slow on some processors.
template <Shape shape>
QUENCH_INLINE void store(std::uint8_t* to, std::int64_t step, bool both, __mmask32 mask, __m512i codes) {
  if (shape == Shape::kWide) return _mm512_storeu_si512(to, codes);
  if (shape == Shape::kTwins && both) return _mm512_storeu_si512(to, codes);
  const __m256i first = _mm512_castsi512_si256(codes), second = _mm512_extracti64x4_epi64(codes, 1);
  if (mask == 0xFFFFFFFFU) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
    if (both) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + step), second);
    return;
  }
  _mm256_mask_storeu_epi8(to, mask, first);
  if (both) _mm256_mask_storeu_epi8(to + step, mask, second);
}

struct Lanes {
  const __m512i* weights;  // by row of results, column of the kernel, part
  __m512i bias[4];
  __m512 multiplier[4];

  Lanes(const DepthwiseRows& rows, std::int64_t block)
      : weights(reinterpret_cast<const __m512i*>(rows.weights + block * kDepthwiseBlockBytes)) {
    for (int p = 0; p < 4; ++p) {
      bias[p] = _mm512_loadu_si512(rows.result.bias + block * kDepthwiseLanes + 16 * p);
      multiplier[p] = _mm512_loadu_ps(rows.result.multiplier + block * kDepthwiseLanes + 16 * p);
    }
  }
};

template <Kind kind>
QUENCH_INLINE __m512i codes_of(const __m512i* weights, const Column& a, const Column& b, const Column& c,
                               const Lanes& lanes, const ByteCodes& to_codes) {
  __m512i steps[4];
  for (int p = 0; p < 4; ++p) {
    __m512i sum = _mm512_dpbusd_epi32(lanes.bias[p], a.part[p], _mm512_loadu_si512(weights + p));
    sum = _mm512_dpbusd_epi32(sum, b.part[p], _mm512_loadu_si512(weights + 4 + p));
    sum = _mm512_dpbusd_epi32(sum, c.part[p], _mm512_loadu_si512(weights + 8 + p));
    steps[p] = to_codes.steps<kind>(sum, lanes.multiplier[p]);
  }
  return to_codes.pack<kind>(steps[0], steps[1], steps[2], steps[3]);
}

template <Shape shape, int stride, int count, Kind kind>
void run_block(const Block<shape, stride, count, kind> block, const Lanes lanes, const ByteCodes to_codes,
               std::uint8_t* codes) {
  constexpr int pixels = shape == Shape::kWide ? 1 : 2;
  const DepthwiseRows& rows = block.rows;
  const std::int64_t row_bytes = rows.output_width * rows.channels;
  std::int64_t x = -rows.left;
  Column a = block.column(x), b = block.column(x + 1);
  for (std::int64_t o = 0; o < rows.output_width; o += pixels, x += pixels * stride) {
    const Column c = block.column(x + 2);
    for (int r = 0; r < count; ++r)
      store<shape>(codes + r * row_bytes + o * rows.channels + block.channel, rows.channels, o + 1 < rows.output_width,
                   block.mask, codes_of<kind>(lanes.weights + 12 * r, a, b, c, lanes, to_codes));
    if (pixels * stride == 1) {
      a = b;
      b = c;
    } else {
      a = pixels * stride == 2 ? c : block.column(x + pixels * stride);
      b = block.column(x + pixels * stride + 1);
    }
  }
}

template <Shape shape, int stride, int count, Kind kind>
void run_shape(const DepthwiseRows& rows, std::int64_t block, std::uint8_t* codes) {
  const std::int64_t first = Blocks(rows.channels).first(block), left = rows.channels - first;
  const __mmask32 mask = left >= 32 ? 0xFFFFFFFFU : (1U << left) - 1U;
  run_block<shape, stride, count, kind>({rows, first, mask}, Lanes(rows, block), ByteCodes(rows.result), codes);
}

template <int stride, int count, Kind kind>
void run_channels(const DepthwiseRows& rows, std::uint8_t* codes) {
  const Blocks blocks(rows.channels);
  for (std::int64_t block = 0; block < blocks.count; ++block) {
    if (block < blocks.wide)
      run_shape<Shape::kWide, stride, count, kind>(rows, block, codes);
    else if (rows.channels == 32 && stride == 1)
      run_shape<Shape::kTwins, stride, count, kind>(rows, block, codes);
    else
      run_shape<Shape::kPair, stride, count, kind>(rows, block, codes);
  }
}

template <Kind kind>
void run_kind(const DepthwiseRows& rows, int count, std::uint8_t* codes) {
  if (rows.stride == 2) return run_channels<2, 1, kind>(rows, codes);
  (count == 2 ? run_channels<1, 2, kind> : run_channels<1, 1, kind>)(rows, codes);
}

}  // namespace

void depthwise(const DepthwiseRows& rows, int count, std::uint8_t* codes) {
  switch (kind_of(rows.result, rows.is_signed)) {
    case Kind::kBare: return run_kind<Kind::kBare>(rows, count, codes);
    case Kind::kUnsigned: return run_kind<Kind::kUnsigned>(rows, count, codes);
    case Kind::kSigned: return run_kind<Kind::kSigned>(rows, count, codes);
  }
}

std::int64_t depthwise_blocks(std::int64_t channels) { return Blocks(channels).count; }

// Where unpacking puts a byte: part, then 128-bit lane, then place in it.
std::int64_t depthwise_channel(std::int64_t channels, std::int64_t block, std::int64_t lane) {
  const Blocks blocks(channels);
  const std::int64_t part = lane / 16, quarter = lane % 16 / 4, place = lane % 4;
  const std::int64_t within = (block < blocks.wide ? quarter : quarter % 2) * 16 + part * 4 + place;
  const std::int64_t channel = blocks.first(block) + within;
  return channel < channels ? channel : -1;
}

void pack_depthwise(std::int64_t channels, const std::int8_t* weights, std::int8_t* packed) {
  const std::int64_t blocks = depthwise_blocks(channels);
  for (std::int64_t i = 0; i < blocks * kDepthwiseBlockBytes; ++i) packed[i] = 0;
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t lane = 0; lane < kDepthwiseLanes; ++lane) {
      const std::int64_t channel = depthwise_channel(channels, block, lane);
      for (std::int64_t i = 0; channel >= 0 && i < kMostDepthwiseRows * 9; ++i) {
        const std::int64_t row = i / 9, ky = i / 3 % 3, kx = i % 3;
        std::int8_t* column = packed + block * kDepthwiseBlockBytes + (row * 3 + kx) * 256;
        column[lane * 4 + ky + row] = weights[channel * 9 + ky * 3 + kx];
      }
    }
}

}  // namespace quench

// Compiled for AVX-512 with VNNI, without contraction. Nothing of the standard library: see kernels/simd/simd.h.
//
// A tile is `rows` results of up to 64 channels: their sums stay in registers while the codes of the input are
// broadcast, four at a time, and the packed weights of these channels stream by. Channels are taken in blocks of 64 and
// fewer (`vectors` of 16 each).
#include "engine/simd/byte_product.h"

#include "engine/simd/byte_codes_avx512.h"

namespace quench {
namespace {

constexpr int kVector = 16, kMostVectors = 4;
constexpr std::int64_t kNearBytes =
    24 << 10;  // of the input, that all blocks of channels read while the first cache holds them

// How many results a tile has at most: sums, weights and one broadcast fit 32 registers. Where the input has few
// channels, half of that: the processor looks far enough ahead to form the next sums while these become codes.
constexpr int tile_rows(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 8 : 12; }
constexpr int small_tile_rows(int vectors) { return vectors == 1 ? 8 : tile_rows(vectors) / 2; }
constexpr std::int64_t kSmallDepth = 64;  // steps of four codes

constexpr std::int64_t steps_of(std::int64_t run_bytes) { return (run_bytes + 3) / 4; }

// Vectors are spread over as few blocks as hold them, evenly: 5 are 3 and 2.
struct Blocks {
  std::int64_t vectors, count;
  explicit Blocks(std::int64_t channels)
      : vectors((channels + kVector - 1) / kVector), count((vectors + kMostVectors - 1) / kMostVectors) {}
  std::int64_t first(std::int64_t block) const { return block * vectors / count; }  // vector
  int size(std::int64_t block) const { return static_cast<int>(first(block + 1) - first(block)); }
};

struct Tile {
  const std::uint8_t* pixels[12];
  const std::int8_t* weights;
  std::int64_t runs, run_step, steps;
  const std::int32_t* bias;
  const float* multiplier;
  std::uint8_t* codes;     // of the first result, at the block's first channel
  std::int64_t code_step;  // from one result to the next
  std::int64_t channels;   // that count
};

// The first `count` codes. Whole vectors are stored as they are: stores with a mask are slow on some processors.
template <int vectors, bool whole>
QUENCH_INLINE void store_codes(std::uint8_t* to, std::int64_t count, __m512i codes) {
  if constexpr (!whole) {
    _mm512_mask_storeu_epi8(to, (__mmask64{1} << count) - 1, codes);
  } else if constexpr (vectors == 4) {
    _mm512_storeu_si512(to, codes);
  } else {
    if (vectors > 1) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(codes));
    if (vectors == 1) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(codes));
    if (vectors == 3) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 32), _mm512_extracti32x4_epi32(codes, 2));
  }
}

// Packing interleaves the vectors of a block, 4 channels of each at a time; with fewer than four vectors, of several
// results. Here they are parted again.
template <Kind kind, bool whole, int rows>
QUENCH_INLINE void store(const Tile& t, const ByteCodes& to_codes, const __m512i (&codes)[rows][4]) {
  for (int r = 0; r < rows; ++r)
    store_codes<4, whole>(t.codes + r * t.code_step, t.channels,
                          to_codes.pack<kind>(codes[r][0], codes[r][1], codes[r][2], codes[r][3]));
}

template <Kind kind, bool whole, int rows>
QUENCH_INLINE void store(const Tile& t, const ByteCodes& to_codes, const __m512i (&codes)[rows][3]) {
  const __m512i close = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
  for (int r = 0; r < rows; ++r) {
    const __m512i all = to_codes.pack<kind>(codes[r][0], codes[r][1], codes[r][2], codes[r][2]);
    store_codes<3, whole>(t.codes + r * t.code_step, t.channels, _mm512_permutexvar_epi32(close, all));
  }
}

template <Kind kind, bool whole, int rows>
QUENCH_INLINE void store(const Tile& t, const ByteCodes& to_codes, const __m512i (&codes)[rows][2]) {
  const __m512i part = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  for (int r = 0; r < rows; r += 2) {
    const int other = r + 1 < rows ? r + 1 : r;
    const __m512i both =
        _mm512_permutexvar_epi64(part, to_codes.pack<kind>(codes[r][0], codes[r][1], codes[other][0], codes[other][1]));
    std::uint8_t* to = t.codes + r * t.code_step;
    store_codes<2, whole>(to, t.channels, both);
    if (other > r) store_codes<2, whole>(to + t.code_step, t.channels, _mm512_shuffle_i64x2(both, both, 0xEE));
  }
}

template <Kind kind, bool whole, int rows>
QUENCH_INLINE void store(const Tile& t, const ByteCodes& to_codes, const __m512i (&codes)[rows][1]) {
  const __m512i part = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (int r = 0; r < rows; r += 4) {
    const auto at = [&](int k) { return codes[r + k < rows ? r + k : r][0]; };
    const __m512i all = _mm512_permutexvar_epi32(part, to_codes.pack<kind>(at(0), at(1), at(2), at(3)));
    std::uint8_t* to = t.codes + r * t.code_step;
    store_codes<1, whole>(to, t.channels, all);
    if (r + 1 < rows) store_codes<1, whole>(to + t.code_step, t.channels, _mm512_shuffle_i32x4(all, all, 1));
    if (r + 2 < rows) store_codes<1, whole>(to + 2 * t.code_step, t.channels, _mm512_shuffle_i32x4(all, all, 2));
    if (r + 3 < rows) store_codes<1, whole>(to + 3 * t.code_step, t.channels, _mm512_shuffle_i32x4(all, all, 3));
  }
}

QUENCH_INLINE __m512i broadcast4(const std::uint8_t* codes) {
  int four;
  __builtin_memcpy(&four, codes, 4);
  return _mm512_set1_epi32(four);
}

template <int vectors, int rows, Kind kind>
void run_tile(const Tile& t, const ByteCodes& to_codes) {
  __m512i sum[rows][vectors];
  for (int v = 0; v < vectors; ++v) {
    const __m512i bias = _mm512_loadu_si512(t.bias + v * kVector);
    for (int r = 0; r < rows; ++r) sum[r][v] = bias;
  }
  const __m512i top = _mm512_set1_epi32(static_cast<int>(0x80808080U));  // makes signed codes unsigned
  const auto* w = reinterpret_cast<const __m512i*>(t.weights);
  for (std::int64_t run = 0; run < t.runs; ++run) {
    const std::int64_t begin = run * t.run_step, end = begin + 4 * t.steps;
    for (std::int64_t k = begin; k < end; k += 4, w += vectors) {
      __m512i weight[vectors];
      for (int v = 0; v < vectors; ++v) weight[v] = _mm512_loadu_si512(w + v);
      for (int r = 0; r < rows; ++r) {
        __m512i x = broadcast4(t.pixels[r] + k);
        if (kind == Kind::kSigned) x = _mm512_xor_si512(x, top);
        for (int v = 0; v < vectors; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], x, weight[v]);
      }
    }
  }
  for (int v = 0; v < vectors; ++v) {
    const __m512 multiplier = _mm512_loadu_ps(t.multiplier + v * kVector);
    for (int r = 0; r < rows; ++r) sum[r][v] = to_codes.steps<kind>(sum[r][v], multiplier);
  }
  if (kind == Kind::kBare || t.channels == vectors * kVector)
    store<kind, true>(t, to_codes, sum);
  else
    store<kind, false>(t, to_codes, sum);
}

using RunTile = void (*)(const Tile&, const ByteCodes&);

template <int vectors, Kind kind, int rows = tile_rows(vectors)>
RunTile tile_of(int wanted) {
  if constexpr (rows > 1) {
    if (wanted < rows) return tile_of<vectors, kind, rows - 1>(wanted);
  }
  return run_tile<vectors, rows, kind>;
}

template <Kind kind>
RunTile tile_of(int vectors, int rows) {
  switch (vectors) {
    case 4: return tile_of<4, kind>(rows);
    case 3: return tile_of<3, kind>(rows);
    case 2: return tile_of<2, kind>(rows);
    default: return tile_of<1, kind>(rows);
  }
}

RunTile tile_of(Kind kind, int vectors, int rows) {
  switch (kind) {
    case Kind::kBare: return tile_of<Kind::kBare>(vectors, rows);
    case Kind::kUnsigned: return tile_of<Kind::kUnsigned>(vectors, rows);
    default: return tile_of<Kind::kSigned>(vectors, rows);
  }
}

// Finds the input of one result after the other.
struct Cursor {
  const PixelWalk& walk;
  std::int64_t column, row;
  const std::uint8_t* at;  // the row's first

  Cursor(const PixelWalk& of, std::int64_t index) : walk(of) {
    column = index % of.width;
    row = index / of.width % of.height;
    at = of.x + index / (of.width * of.height) * of.item_step + row * of.row_step;
  }
  QUENCH_INLINE const std::uint8_t* next() {
    const std::uint8_t* pixel = at + column * walk.pixel_step;
    if (++column < walk.width) return pixel;
    column = 0;
    at += walk.row_step;
    if (++row == walk.height) {
      row = 0;
      at += walk.item_step - walk.height * walk.row_step;
    }
    return pixel;
  }
};

// A block of channels for results [first, last), in tiles that differ by one result at most.
void run_block(const ByteProductLoop& loop, const ByteCodes& to_codes, int vectors, Tile tile, std::int64_t first,
               std::int64_t last) {
  const bool whole = tile.channels == vectors * kVector;
  Kind kind = kind_of(loop.result, loop.is_signed);
  if (kind == Kind::kBare && !whole) kind = Kind::kUnsigned;
  const int most = tile.runs * tile.steps < kSmallDepth ? small_tile_rows(vectors) : tile_rows(vectors);
  const std::int64_t count = last - first, tiles = (count + most - 1) / most;
  const int smaller = static_cast<int>(count / tiles);
  const std::int64_t larger = count % tiles;  // this many tiles have one more
  RunTile run[2];
  for (int more = 0; more < 2; ++more) run[more] = tile_of(kind, vectors, smaller + more);
  Cursor cursor(loop.walk, first);
  for (std::int64_t i = 0; i < tiles; ++i) {
    const int rows = smaller + (i < larger ? 1 : 0);
    for (int r = 0; r < rows; ++r) tile.pixels[r] = cursor.next();
    run[i < larger ? 1 : 0](tile, to_codes);
    tile.codes += rows * tile.code_step;
  }
}

}  // namespace

void multiply_bytes(const ByteProductLoop& loop, const ProductPart& part, std::uint8_t* codes) {
  const Blocks blocks(loop.channels);
  const ByteCodes to_codes(loop.result);
  const std::int64_t steps = steps_of(loop.walk.run_bytes), depth = loop.walk.runs * steps;  // of four codes
  std::int64_t near = kNearBytes / (4 * depth) / 24 * 24;
  if (near < 24) near = 24;
  for (std::int64_t begin = part.first; begin < part.last; begin += near) {
    const std::int64_t end = begin + near < part.last ? begin + near : part.last;
    for (std::int64_t block = part.first_block; block < part.last_block; ++block) {
      const std::int64_t lane = blocks.first(block) * kVector, lanes = std::int64_t{kVector} * blocks.size(block);
      const Tile tile{{},
                      loop.weights + lane * 4 * depth,
                      loop.walk.runs,
                      loop.walk.run_step,
                      steps,
                      loop.result.bias + lane,
                      loop.result.multiplier + lane,
                      codes + begin * loop.channels + lane,
                      loop.channels,
                      loop.channels - lane < lanes ? loop.channels - lane : lanes};
      run_block(loop, to_codes, blocks.size(block), tile, begin, end);
    }
  }
}

std::int64_t product_blocks(std::int64_t channels) { return Blocks(channels).count; }

std::int64_t product_lanes(std::int64_t channels) { return Blocks(channels).vectors * kVector; }

std::int64_t product_lane(std::int64_t channels, std::int64_t channel) {
  const Blocks blocks(channels);
  std::int64_t block = 0;
  while (blocks.first(block + 1) * kVector <= channel) ++block;
  const std::int64_t base = blocks.first(block) * kVector, within = channel - base, each = 4 * blocks.size(block);
  const std::int64_t quarter = within / each, vector = within % each / 4;
  return base + vector * kVector + quarter * 4 + within % 4;
}

std::int64_t packed_product_bytes(std::int64_t channels, std::int64_t runs, std::int64_t run_bytes) {
  return product_lanes(channels) * runs * steps_of(run_bytes) * 4;
}

void pack_product(const std::int8_t* weights, std::int64_t channels, std::int64_t runs, std::int64_t run_bytes,
                  std::int8_t* packed) {
  const Blocks blocks(channels);
  const std::int64_t steps = steps_of(run_bytes), depth = runs * steps;
  const std::int64_t bytes = packed_product_bytes(channels, runs, run_bytes);
  for (std::int64_t i = 0; i < bytes; ++i) packed[i] = 0;
  for (std::int64_t block = 0; block < blocks.count; ++block) {
    const std::int64_t base = blocks.first(block) * kVector, lanes = std::int64_t{kVector} * blocks.size(block);
    for (std::int64_t c = base; c < base + lanes && c < channels; ++c) {
      const std::int64_t lane = product_lane(channels, c) - base;
      for (std::int64_t k = 0; k < runs * run_bytes; ++k) {
        const std::int64_t step = k / run_bytes * steps + k % run_bytes / 4;
        packed[base * 4 * depth + (step * lanes + lane) * 4 + k % run_bytes % 4] = weights[c * runs * run_bytes + k];
      }
    }
  }
}

}  // namespace quench

// Products of codes and constant weights for AVX-512 VNNI: convolutions without groups, channels last, and matrix
// products. Results leave the registers as codes, exactly those of quant/integer_ops.h under the rules `mlas` and
// `affine` (byte_loops.h).
#pragma once

#include <cstdint>

#include "engine/simd/byte_loops.h"

namespace quench {

// Where the pixels of the input lie that results are computed from. A result reads `runs` runs of `run_bytes` codes
// each, `run_step` apart: the rows of its window. Up to three bytes behind a run are read, too, and multiplied by zero.
struct PixelWalk {
  const std::uint8_t* x;
  std::int64_t width, height;                    // of the results of one item
  std::int64_t pixel_step, row_step, item_step;  // between results, in bytes of the input
  std::int64_t runs, run_step, run_bytes;
};

struct ByteProductLoop {
  PixelWalk walk;
  std::int64_t channels;  // of the results
  bool is_signed;         // codes of the input
  const std::int8_t* weights;
  ByteResult result;  // bias and multiplier by product_lane
};

// Results [first, last) of all pixels of all items, of these blocks of channels.
struct ProductPart {
  std::int64_t first, last, first_block, last_block;
};
// `codes` is where the first of all results lies.
void multiply_bytes(const ByteProductLoop& loop, const ProductPart& part, std::uint8_t* codes);
std::int64_t product_blocks(std::int64_t channels);

// Weights [channels, runs * run_bytes]: blocks of up to 64 channels; of each, four codes of a run for every channel,
// and so on.
std::int64_t packed_product_bytes(std::int64_t channels, std::int64_t runs, std::int64_t run_bytes);
void pack_product(const std::int8_t* weights, std::int64_t channels, std::int64_t runs, std::int64_t run_bytes,
                  std::int8_t* packed);
// The place of a channel among the sums of its block, so that packing them to bytes puts channels in order; below
// product_lanes(channels), a multiple of 16.
std::int64_t product_lanes(std::int64_t channels);
std::int64_t product_lane(std::int64_t channels, std::int64_t channel);

}  // namespace quench

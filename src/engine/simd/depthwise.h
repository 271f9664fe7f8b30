// A depthwise 3x3 convolution of codes for AVX-512 VNNI, channels last: exactly the codes of quant/integer_ops.h under
// the rules `mlas` and `affine` (byte_loops.h).
#pragma once

#include <cstdint>

#include "engine/simd/byte_loops.h"

namespace quench {

constexpr int kMostDepthwiseRows = 2;  // of results that share what they read; one, in strides of 2

// One row of results, or two, one above the other.
struct DepthwiseRows {
  const std::uint8_t* row[kMostDepthwiseRows + 2];  // of the input
  std::int64_t step[kMostDepthwiseRows + 2];        // between its pixels; 0: all of them are padding
  std::int64_t channels, input_width, output_width;
  std::int64_t stride, left;    // pixels of padding before a row
  const std::uint8_t* padding;  // the code of zero: as many as there are channels, and 64 more
  bool is_signed;               // codes of the input
  const std::int8_t* weights;   // packed
  ByteResult result;            // bias and multiplier packed
};

void depthwise(const DepthwiseRows& rows, int count, std::uint8_t* codes);

// Channels are taken in blocks, of which the last may overlap with the one before. Each has its weights, and bias and
// multiplier of its 64 lanes.
std::int64_t depthwise_blocks(std::int64_t channels);
constexpr std::int64_t kDepthwiseLanes = 64, kDepthwiseBlockBytes = kMostDepthwiseRows * 3 * 4 * 64;
std::int64_t depthwise_channel(std::int64_t channels, std::int64_t block, std::int64_t lane);  // -1: none
void pack_depthwise(std::int64_t channels, const std::int8_t* weights, std::int8_t* packed);   // of [channels, 3, 3]

}  // namespace quench

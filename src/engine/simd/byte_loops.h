// Loops on codes of 8 bits, for processors with AVX-512 VNNI; elsewhere the executor's plain operators run. They give
// exactly the codes of quant/integer_ops.h under the rules `mlas` and `affine`. Channels are innermost.
#pragma once

#include <cstdint>

namespace quench {

// From sums to codes: clamp(round(sum * multiplier) + zero point).
struct ByteResult {
  const std::int32_t* bias;  // added to the sums; one per channel
  const float* multiplier;   // one per channel
  std::int32_t zero_point, low, high;
  bool zero_first;  // the zero point is added before the rounding
  bool is_signed;   // codes of the result
  bool fits_int32;  // no result is beyond int32 before it is clamped
};

struct ByteQuantizer {
  float scale;
  std::int32_t zero_point, low, high;
  bool divide;
};

// y = round(a * a_ratio + (b * b_ratio + constant)), fused, in bounds.
struct ByteSum {
  float a_ratio, b_ratio, constant;
  std::int32_t low, high;
  bool a_signed, b_signed;
};

struct ByteLoops {
  void (*requantize)(const ByteResult&, std::int64_t rows, std::int64_t channels, const std::int32_t* sums,
                     std::uint8_t* codes);
  void (*quantize)(const ByteQuantizer&, std::int64_t count, const float* x, std::uint8_t* codes);
  // Three planes to pixels of three codes.
  void (*quantize_pixels)(const ByteQuantizer&, std::int64_t count, const float* const planes[3], std::uint8_t* codes);
  void (*add)(const ByteSum&, std::int64_t count, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y);
  // sums[c] = the sum of codes over `rows` pixels
  void (*sum_rows)(std::int64_t rows, std::int64_t channels, bool is_signed, const std::uint8_t* codes,
                   std::int32_t* sums);
};
const ByteLoops& byte_loops();
// Whether this processor has AVX-512 VNNI: older instructions saturate the sum of two products in 16 bits.
bool has_byte_loops();

}  // namespace quench

// What integer layers that multiply share: the sums that oneDNN forms of raw codes, and how they become codes again.
//
//   y = requantize(sum((x - z_x) * (w - z_w)) + b) = requantize(sum(x * w') + b'),   w' = w - z_w,  b' = b - z_x *
//   sum(w')
//
// oneDNN adds a bias and multiplies in float32. That is exact while sum and bias stay below 2^24, which is proved from
// the weights at hand; then the rules mlas and affine are post-ops of the kernel. For other layers and rules it stores
// the int32 sums, and a loop of ours makes codes of them.
#pragma once

#include <optional>
#include <vector>

#include "engine/builder.h"
#include "engine/simd/byte_loops.h"
#include "ops/integer_form.h"

namespace quench {

struct ByteProduct {
  std::vector<std::int8_t> weight;  // without zero points; the output channels outermost
  Sizes sizes;                      // of the weight
  std::vector<std::int32_t> bias;   // b', one per output channel
  std::vector<float> multiplier;    // of mlas and affine, one per output channel
  OutputCodes y;
  bool y_signed = false;
  bool fits_float = false;  // no sum needs more than 24 bits, and the rule is mlas or affine
  bool has_loop = false;    // the rule is one of byte_loops.h
  bool zero_first = false;  // the zero point before the rounding
  bool fits_int32 = false;  // no result is beyond int32 before it is clamped

  // For loops that multiply unsigned codes: signed ones as code + 128.
  std::vector<std::int32_t> bias_for(bool x_signed) const;
};

// For the loops; bias and multiplier are the caller's, padded.
ByteResult byte_result(const ByteProduct& product, const std::int32_t* bias, const float* multiplier);

// The weight as a tensor of its own memory.
at::Tensor weight_tensor(const ByteProduct& product);

// Codes that lie in bytes: what the loops and oneDNN take.
bool is_byte(const QType& type);
// All codes that a byte can be, in order of the byte; those that the scheme lacks are clamped: no tensor holds them.
at::Tensor all_bytes(const QScheme& scheme);
at::Tensor bytes_of(const at::Tensor& codes);  // each code as the byte that stores it

// Of a layer with constant weights, whose output channels lie in `axis`; nothing where they do not fit int8 without
// their zero points, or a sum could overflow int32.
std::optional<ByteProduct> byte_product(const Node& node, const IntegerForm& form, int axis);

// A vector of `count` (or one) numbers, as many as channels, readable to the next multiple of 64.
template <typename T>
std::vector<T> padded(const std::vector<T>& values, std::size_t channels) {
  std::vector<T> result((channels + 63) / 64 * 64, T{});
  for (std::size_t c = 0; c < channels; ++c) result[c] = values[values.size() == 1 ? 0 : c];
  return result;
}

// The end of a layer: as post-ops, or as a step of its own on int32 sums.
dnnl::memory::data_type sums_type(const ByteProduct& product);  // that the kernel stores
dnnl::post_ops code_post_ops(const ByteProduct& product, int rank);
// Adds bias and multipliers to the call.
void add_code_arguments(Builder& builder, const Node& node, const ByteProduct& product, int rank, PrimitiveCall& call);
// From the slot that the kernel wrote to codes: the same slot where post-ops did it. Channels are innermost.
int finish_codes(Builder& builder, const Node& node, const IntegerForm& form, const ByteProduct& product, int sums);

}  // namespace quench

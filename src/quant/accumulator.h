// What sits in an int32 accumulator: the bias, and how far the sum of products can reach. docs/numerics.md 11.
#pragma once

#include "quant/integer_ops.h"

namespace quench {

// b_q = round(b / (s_x * s_w)), per output channel; the step is the float32 product, as files hold it. s_w has
// an entry per channel, or one, or as many as a group has (a ConvTranspose in groups: entry c modulo their number
// belongs to channel c). By the reciprocal it is a product in float32, as in torch. Throws if a code does not fit
// int32.
std::vector<std::int32_t> quantize_bias(const std::vector<float>& bias, float x_scale,
                                        const std::vector<float>& weight_scale, QuantizeBy by = QuantizeBy::kDivision);

// The greatest |b| / (s_x * s_w): it leaves half of int32 to the products.
constexpr double kLargestBias = 1073741824.0;  // 2^30

struct RaisedScales {
  std::vector<float> scale;           // of the weights, each the least that fits its bias
  std::vector<std::size_t> channels;  // the entries of `scale` that were raised
};
// The scales of the weights under the rule that a bias fits (docs/numerics.md 11). A scale that is a power of two
// stays one. With one scale for all channels that one is raised for the largest bias.
RaisedScales raise_weight_scales(const std::vector<float>& bias, float x_scale, const QType& weight);

// The worst case of a sum of `products` products and a bias: K * max|x_q - z_x| * max|w_q - z_w| + |b_q|.
std::int64_t accumulator_bound(std::int64_t products, const QType& x, const QType& w, std::int64_t largest_bias = 0);

// The same from the actual weights: the farthest that any sum of a channel of `axis` (-1: the last) can reach, whatever
// the codes of x. The bias is int32 or undefined; one of a ConvTranspose in groups has a channel for each group.
std::int64_t largest_accumulator(const QType& x, const QTensor& w, std::int64_t axis, const at::Tensor& bias);

}  // namespace quench

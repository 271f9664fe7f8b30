// What the integer ops share.
#pragma once

#include "quant/integer_ops.h"

namespace quench {

// codes - z, exact in float64. With scales per channel `axis` must be the scheme's (counted from the front);
// -1 if the op takes per-tensor operands only.
at::Tensor centered(const QTensor& x, int axis = -1);
float tensor_scale(const QTensor& x);  // of a per-tensor operand

// Of a matrix product or a convolution: adds the bias along `axis`, checks that all fits int32, and
// requantizes. `products` is the number of products per sum.
struct Sums {
  const at::Tensor& values;  // float64, exact
  std::int64_t products;
  std::int64_t axis;  // of output channels
};
at::Tensor finish_sums(const Sums& sums, const QTensor& x, const QTensor& w, const at::Tensor& bias, const Output& y);

// Of accumulators (float64 or int64) that fit int32, with channels along `axis`.
at::Tensor requantized(const at::Tensor& accumulators, std::int64_t axis, const Requantizer& requantizer,
                       const QScheme& scheme);
// `products` and `bound` explain the message.
void check_int32(const at::Tensor& accumulators, std::int64_t products, std::int64_t bound);

}  // namespace quench

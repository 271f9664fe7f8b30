#include "measure/apart.h"

#include <ATen/ATen.h>

#include <limits>

namespace quench {

at::Tensor apart(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor same = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
  return (a - b).abs().nan_to_num(kInfinity, kInfinity, kInfinity).masked_fill(same, 0.0);
}

}  // namespace quench

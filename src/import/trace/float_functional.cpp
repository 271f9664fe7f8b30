// FloatFunctional: a trace sees the operators behind it.
#include <ATen/ATen.h>

#include "quench/torch.h"

namespace quench {

at::Tensor FloatFunctional::forward(const at::Tensor&) {
  fail("FloatFunctional has no forward: call add, mul, cat, add_relu, matmul, add_scalar or mul_scalar");
}
at::Tensor FloatFunctional::add(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
at::Tensor FloatFunctional::mul(const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }
at::Tensor FloatFunctional::cat(const std::vector<at::Tensor>& tensors, std::int64_t dim) {
  return at::cat(tensors, dim);
}
at::Tensor FloatFunctional::add_relu(const at::Tensor& a, const at::Tensor& b) { return at::relu(at::add(a, b)); }
at::Tensor FloatFunctional::matmul(const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); }
at::Tensor FloatFunctional::add_scalar(const at::Tensor& a, double b) { return at::add(a, b); }
at::Tensor FloatFunctional::mul_scalar(const at::Tensor& a, double b) { return at::mul(a, b); }

}  // namespace quench

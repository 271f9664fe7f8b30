#include <ATen/ATen.h>

#include "quant/integer_tensor.h"
#include "quench/error.h"

namespace quench {

at::Tensor integer_matmul(const QTensor& a, const QTensor& b, const at::Tensor& bias, const Output& y) {
  QUENCH_CHECK(a.codes.dim() >= 2 && b.codes.dim() >= 2, "an integer MatMul takes matrices, not ranks ", a.codes.dim(),
               " and ", b.codes.dim());
  const at::Tensor sums = at::matmul(centered(a), centered(b, static_cast<int>(b.codes.dim()) - 1));
  return finish_sums({sums, a.codes.size(-1), -1}, a, b, bias, y);
}

at::Tensor integer_gemm(const QTensor& a, const QTensor& b, const at::Tensor& bias, Transposed transposed,
                        const Output& y) {
  QUENCH_CHECK(a.codes.dim() == 2 && b.codes.dim() == 2, "Gemm takes matrices, not ranks ", a.codes.dim(), " and ",
               b.codes.dim());
  const at::Tensor left = centered(a), right = centered(b, transposed.b ? 0 : 1);
  const at::Tensor sums = at::mm(transposed.a ? left.t() : left, transposed.b ? right.t() : right);
  return finish_sums({sums, a.codes.size(transposed.a ? 0 : 1), -1}, a, b, bias, y);
}

}  // namespace quench

// The affine fake-quantizers on whole tensors: fused, threaded loops on the CPU and on CUDA; any dense layout
// is processed in place. Float32; the fake quantizers of an activation take bfloat16 too (kernels/affine/bfloat16.h:
// has_bfloat16_loops), and give it back. Each has a plain twin (*_ref) that defines what it must equal: forward bit for
// bit, sums to accumulated rounding. Results have the layout of x.
#pragma once

#include "quench/quant.h"

namespace at {
class Tensor;
}

namespace quench {

// Scale (> 0) and zero point (integers held as float32) have the scheme's shape for x, or one element.
struct AffineArgs {
  const at::Tensor& scale;
  const at::Tensor& zero_point;
  const QScheme& scheme;
  QuantizeBy by = QuantizeBy::kReciprocal;
  double gradient_factor = 1.0;  // multiplies the gradients of scale and zero point
  // A Relu stands in front of the quantizer and x is what it reads: fake_quantize(), fake_quantize_masked(),
  // lsq_backward() and dsq_backward() have both in one loop. On CUDA only.
  bool after_relu = false;
};

// y = (clamp(round(x/s) + z, n, p) - z) * s; docs/numerics.md 4.
at::Tensor fake_quantize(const at::Tensor& x, const AffineArgs& args);
at::Tensor fake_quantize_ref(const at::Tensor& x, const AffineArgs& args);

// Integer codes, int32. NaN gives the zero point's code.
at::Tensor quantize_codes(const at::Tensor& x, const AffineArgs& args);
at::Tensor dequantize_codes(const at::Tensor& codes, const AffineArgs& args);

// The same with a mask (bool) of where the code was in range, and the gradient that it lets pass.
void fake_quantize_masked(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask);
void fake_quantize_masked_ref(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask);
at::Tensor masked_gradient(const at::Tensor& dy, const at::Tensor& mask);
at::Tensor masked_gradient_ref(const at::Tensor& dy, const at::Tensor& mask);

// LSQ (docs/numerics.md 5.3), all three gradients in one pass; ds and dz (float32, in the shapes of scale and zero
// point) times args.gradient_factor.
void lsq_backward(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, at::Tensor& dx, at::Tensor& ds,
                  at::Tensor& dz);
void lsq_backward_ref(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, at::Tensor& dx, at::Tensor& ds,
                      at::Tensor& dz);

}  // namespace quench

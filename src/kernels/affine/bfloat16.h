// The loops of kernels/affine on bfloat16 tensors of the CPU with one scale: converted block by block in the cache, in
// place of whole tensors in memory. Each gives what its namesake gives for the tensor in float32, rounded.
#pragma once

#include "kernels/affine/affine.h"

namespace quench {

// Dense, on the CPU, with one scale and one zero point.
bool has_bfloat16_loops(const at::Tensor& x, const AffineArgs& args);

at::Tensor fake_quantize_bfloat16(const at::Tensor& x, const AffineArgs& args);
void fake_quantize_masked_bfloat16(const at::Tensor& x, const AffineArgs& args, at::Tensor& y, at::Tensor& mask);
at::Tensor masked_gradient_bfloat16(const at::Tensor& dy, const at::Tensor& mask);
// ds and dz are float32, in the shapes of scale and zero point.
void lsq_backward_bfloat16(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, at::Tensor& dx,
                           at::Tensor& ds, at::Tensor& dz);
at::Tensor dsq_backward_bfloat16(const at::Tensor& dy, const at::Tensor& x, const AffineArgs& args, double alpha);

}  // namespace quench

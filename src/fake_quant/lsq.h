// What LSQ (fake_quant/lsq.cpp) learns from, for code that has a shorter way to the gradient of a scale.
#pragma once

#include "kernels/affine/affine.h"
#include "quench/fake_quant.h"

namespace quench {

// How much each element of y grows with the scale, times the gradient factor: the gradient of the scale is the sum of
// dy times this. Of one scale for the whole tensor; the zero point is integer.
at::Tensor lsq_slopes(const at::Tensor& x, const AffineArgs& args, const Options& options);
// x quantized and its slopes in one tensor: kernels/learned_params.h. False where there is no kernel for it.
bool lsq_quantized_and_slopes(const at::Tensor& x, const AffineArgs& args, const Options& options, at::Tensor& both);

}  // namespace quench

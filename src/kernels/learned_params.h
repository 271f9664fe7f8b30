// A scale and a zero point that learn, as the loops use them, and the parameters themselves kept within their bounds
// (docs/numerics.md 5.3, 5.4); and the slopes of a scale. A handful of operations each, which on a GPU are one kernel.
#pragma once

#include "kernels/affine/affine.h"
#include "quant/scale_rule.h"

namespace quench {

struct CodeBounds {
  float low = 0.0F, high = 0.0F;
  bool symmetric = false;  // the zero point is 0
};

struct ParamRule {
  float scale_floor = 0.0F;
  CodeBounds bounds;
  bool write = false;  // |scale|, at least the floor, and the zero point within the codes replace the parameters
};

// False if the tensors are not on a GPU: then nothing was done. The results are not parameters any more.
bool learned_params_in_one(const at::Tensor& scale, const at::Tensor& zero_point, const ParamRule& rule,
                           at::Tensor& used_scale, at::Tensor& used_zero);

// PACT's clip, kept usable, and the scale and zero point that follow from it; also written into the quantizer's own
// with `write`. False as above.
struct PactParams {
  const at::Tensor &alpha, &beta;  // beta is undefined for a symmetric scheme
  const at::Tensor &scale, &zero_point;
  ScaleRule rule;
  bool write = false;
};
// found: {low, high, scale, zero point}.
bool pact_params_in_one(const PactParams& params, at::Tensor& found);

// The derivative of each quantized element by its scale, times a factor (quant/affine.h). False as above.
bool slopes_in_one(const at::Tensor& x, const AffineArgs& args, double factor, at::Tensor& slopes);

// The quantized x and those slopes side by side, as channels of one tensor with zeros after them: {N, P, H, W} in the
// layout channels last, P = 2C rounded up to a multiple of four. False also where x has another layout.
bool quantized_and_slopes_in_one(const at::Tensor& x, const AffineArgs& args, double factor, at::Tensor& both);

}  // namespace quench

// The affine op with its plain gradient: dy where the code is in range (docs/numerics.md 4).
#pragma once

#include "kernels/affine/affine.h"

namespace quench {

at::Tensor affine_with_mask(const at::Tensor& x, const AffineArgs& args);

}  // namespace quench

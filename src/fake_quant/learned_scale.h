// A scale that learns, as a forward uses it: positive, and a power of two where the scheme says so; the gradient
// goes straight through both.
#pragma once

#include "quench/fake_quant.h"

namespace quench {

// Not a parameter any more. While gradients are recorded the parameter itself is kept positive (docs/numerics.md 5.3).
at::Tensor used_scale(const at::Tensor& scale, const QScheme& scheme);

}  // namespace quench

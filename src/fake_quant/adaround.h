// What reconstruction asks of AdaRound's quantizer beyond quantizing.
#pragma once

#include "kernels/affine/affine.h"

namespace quench {

// alpha for which soft rounding gives the weight itself (before clamping): h(alpha) = w/s - floor(w/s).
at::Tensor adaround_initial(const at::Tensor& weight, const AffineArgs& args);

}  // namespace quench

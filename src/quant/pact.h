// PACT (docs/numerics.md 5.5; Choi et al., 2018) for one element: clip, then the affine op.
#pragma once

#include "quant/affine.h"

namespace quench {

QUENCH_HD inline float pact_clip(float x, float low, float high) { return clamp_steps(x, {low, high}); }

// Where dx = dy: inside the clip, and the code representable.
QUENCH_HD inline bool pact_passes(float x, float v, float low, float high, Steps steps) {
  return x >= low && x <= high && in_range(v, steps);
}

}  // namespace quench

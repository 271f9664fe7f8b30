// The errors that the searches compare, on raw CUDA memory.
#pragma once

#include "kernels/affine/table.h"
#include "kernels/simd/simd_statistics.h"
#include "quant/scale_rule.h"

namespace quench {

// One per channel.
struct CudaRanges {
  const float *min, *max;
  float *best_min, *best_max;
  double* least;  // the least sum of errors yet
};

struct RangeTrial {
  ScaleRule rule;
  double power;
  float factor;  // of both ends
};

// The sum of |q(x) - x|^power of each channel under its range times the factor; where it is less than the least, the
// range becomes the best.
void cuda_try_range(const AffineView& view, const float* x, const RangeTrial& trial, const CudaRanges& ranges);

void cuda_step_error(std::int64_t count, const float* x, const StepErrors& by, double* sum);

}  // namespace quench

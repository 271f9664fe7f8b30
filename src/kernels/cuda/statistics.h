// The statistics of observers on CUDA, on raw memory: results one per channel of the view (whose scales are unused).
#pragma once

#include "kernels/affine/table.h"

namespace quench {

void cuda_min_max(const AffineView& view, const float* x, float* min, float* max);
void cuda_moments(const AffineView& view, const float* x, double* sum, double* squares, double* absolute);

struct CudaBins {
  const float *low, *high;  // one per channel
  int count;
  bool absolute, grid;
};
// counts: {channels, bins}, written.
void cuda_histogram(const AffineView& view, const float* x, const CudaBins& bins, double* counts);

}  // namespace quench

// kernels/learned_params.h on CUDA, on raw memory.
#pragma once

#include <cstdint>

#include "kernels/affine/table.h"

namespace quench {

struct ParamRule;

struct CudaParams {
  std::int64_t count;
  float *parameters, *used;
};

void cuda_learned_params(const CudaParams& scales, const CudaParams& zeros, const ParamRule& rule);
void cuda_slopes(const AffineView& view, float factor, const float* x, float* slopes);

}  // namespace quench

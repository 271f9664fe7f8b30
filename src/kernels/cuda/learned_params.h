// kernels/learned_params.h on CUDA, on raw memory.
#pragma once

#include <cstdint>

#include "kernels/affine/table.h"
#include "quant/scale_rule.h"

namespace quench {

struct ParamRule;

struct CudaParams {
  std::int64_t count;
  float *parameters, *used;
};

void cuda_learned_params(const CudaParams& scales, const CudaParams& zeros, const ParamRule& rule);
// scale and zero_point are null where they are not written; beta is null for a symmetric scheme.
struct CudaPact {
  const float *alpha, *beta;
  float *scale, *zero_point;
  ScaleRule rule;
};
void cuda_pact_params(const CudaPact& pact, float* found);

// Pixel by pixel: the quantized channels, their slopes times `factor`, zeros up to `stride`.
struct CudaPixels {
  std::int64_t count, channels, stride;
  float factor;
};
void cuda_quantized_and_slopes(const AffineView& view, const CudaPixels& pixels, const float* x, float* to);
void cuda_slopes(const AffineView& view, float factor, const float* x, float* slopes);

}  // namespace quench

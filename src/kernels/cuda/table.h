// The CUDA loops, one per field of Kernels.
#pragma once

#include "kernels/affine/table.h"

namespace quench {

void cuda_fake_quantize(const AffineView& view, const float* x, float* y);
void cuda_codes(const AffineView& view, const float* x, std::int32_t* q);
void cuda_dequantize(const AffineView& view, const std::int32_t* q, float* y);
void cuda_masked(const AffineView& view, const float* x, float* y, bool* mask);
void cuda_masked_gradient(std::int64_t count, const float* dy, const bool* mask, float* dx);
void cuda_lsq_backward(const AffineView& view, const float* dy, const float* x, float* dx, float* ds, float* dz);
void cuda_dsq_backward(const AffineView& view, DsqShape shape, const float* dy, const float* x, float* dx);
void cuda_pact_forward(const AffineView& view, ClipRange clip, const float* x, float* y);
void cuda_pact_backward(const AffineView& view, ClipRange clip, const float* dy, const float* x, float* dx,
                        float* sums);
void cuda_adaround_forward(const AffineView& view, const float* w, const float* alpha, float* y);
void cuda_adaround_backward(const AffineView& view, const float* dy, const float* w, const float* alpha, float* dalpha);
void cuda_qdrop_forward(const AffineView& view, const DropCoin& coin, const float* x, float* y);
void cuda_qdrop_backward(const AffineView& view, const DropCoin& coin, const float* dy, const float* x, float* dx,
                         float* ds);

}  // namespace quench

// The loops behind kernels/affine/affine.h and kernels/affine/learned.h on raw memory. Three tables of them have the
// same meaning: the plain loops that define it, the CPU's fast ones, and CUDA's.
#pragma once

#include <cstdint>

#include "kernels/simd/simd.h"

namespace quench {

// Element (o, c, i) at (o * channels + c) * inner + i has scale[c * scale_step]; a step of 0: one for all.
struct AffineView {
  std::int64_t outer = 1, channels = 1, inner = 1;
  const float* scale = nullptr;
  const float* zero_point = nullptr;
  std::int64_t scale_step = 0, zero_step = 0;
  float qmin = 0, qmax = 0;
  bool divide = false;
  // On CUDA only: whether x is what a Relu in front reads (kernels/affine/affine.h), what the sums of lsq_backward are
  // multiplied by, and PACT's clip (low, high) where it is in memory and not among the arguments.
  bool after_relu = false;
  float sum_factor = 1.0F;
  const float* clip = nullptr;
};

QUENCH_HD inline std::int64_t size_of(const AffineView& view) { return view.outer * view.channels * view.inner; }

QUENCH_HD inline Affine affine_at(const AffineView& view, std::int64_t c) {
  return affine_of(view.scale[c * view.scale_step], view.zero_point[c * view.zero_step], view.qmin, view.qmax);
}

// Gradients arrive as dy and leave as dx; sums are one float per channel. Outputs never overlap inputs.
struct Kernels {
  void (*fake_quantize)(const AffineView&, const float* x, float* y);
  void (*codes)(const AffineView&, const float* x, std::int32_t* q);
  void (*dequantize)(const AffineView&, const std::int32_t* q, float* y);
  void (*masked)(const AffineView&, const float* x, float* y, bool* mask);
  void (*masked_gradient)(std::int64_t count, const float* dy, const bool* mask, float* dx);
  void (*lsq_backward)(const AffineView&, const float* dy, const float* x, float* dx, float* ds, float* dz);
  void (*dsq_backward)(const AffineView&, DsqShape, const float* dy, const float* x, float* dx);
  void (*pact_forward)(const AffineView&, ClipRange, const float* x, float* y);
  void (*pact_backward)(const AffineView&, ClipRange, const float* dy, const float* x, float* dx, float* sums);
  void (*adaround_forward)(const AffineView&, const float* w, const float* alpha, float* y);
  void (*adaround_backward)(const AffineView&, const float* dy, const float* w, const float* alpha, float* dalpha);
  void (*qdrop_forward)(const AffineView&, const DropCoin&, const float* x, float* y);
  void (*qdrop_backward)(const AffineView&, const DropCoin&, const float* dy, const float* x, float* dx, float* ds);
};

const Kernels& ref_kernels();
const Kernels& cpu_kernels();
// If the build has CUDA; else an error that says so.
const Kernels& cuda_kernels();

}  // namespace quench

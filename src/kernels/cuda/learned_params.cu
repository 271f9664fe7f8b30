// Scales and zero points: a thread each. Slopes: element by element.
#include "kernels/learned_params.h"

#include "kernels/cuda/learned_params.h"
#include "kernels/cuda/map.cuh"

namespace quench {
namespace {

// As abs(), clamp_min() and clamp() do it: a NaN stays one.
__device__ float positive(float scale, float floor) {
  const float size = fabsf(scale);
  return size < floor ? floor : size;
}

__device__ float within(float zero, const CodeBounds& bounds) {
  return zero < bounds.low ? bounds.low : zero > bounds.high ? bounds.high : zero;
}

__global__ void learned_params_kernel(const CudaParams scales, const CudaParams zeros, const ParamRule rule) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < scales.count) {
    const float scale = positive(scales.parameters[i], rule.scale_floor);
    scales.used[i] = scale;
    if (rule.write) scales.parameters[i] = scale;
  }
  if (i >= zeros.count) return;
  const float zero = within(zeros.parameters[i], rule.bounds);
  zeros.used[i] = rule.bounds.symmetric ? 0.0F : rintf(zero);
  if (rule.write && !rule.bounds.symmetric) zeros.parameters[i] = zero;
}

struct Slope {
  bool divide;
  float factor;
  __device__ float operator()(const Affine& a, float x) const {
    return scale_slope(in_steps(x, a, divide), a.steps) * factor;
  }
};

}  // namespace

void cuda_learned_params(const CudaParams& scales, const CudaParams& zeros, const ParamRule& rule) {
  const std::int64_t count = scales.count > zeros.count ? scales.count : zeros.count;
  if (count == 0) return;
  const unsigned grid = cuda_grid(parts_of(count, kThreads), "scales that learn");
  learned_params_kernel<<<grid, kThreads, 0, cuda_stream()>>>(scales, zeros, rule);
  check_cuda(cudaGetLastError(), "scales that learn");
}

void cuda_slopes(const AffineView& view, float factor, const float* x, float* slopes) {
  map(view, Slope{view.divide, factor}, slopes, Memory{x});
}

}  // namespace quench

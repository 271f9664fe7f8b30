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

// As fake_quant/pact.cpp has it for the CPU.
__global__ void pact_params_kernel(const CudaPact pact, float* found) {
  const float alpha = *pact.alpha < kScaleFloor ? kScaleFloor : *pact.alpha;
  float low = pact.rule.is_signed ? -alpha : 0.0F;
  if (pact.beta) low = *pact.beta > 0.0F ? 0.0F : *pact.beta;
  const ScaleZero pair = scale_of_range(low, alpha, pact.rule);
  found[0] = low;
  found[1] = alpha;
  found[2] = pair.scale;
  found[3] = pair.zero_point;
  if (pact.scale) *pact.scale = pair.scale;
  if (pact.zero_point) *pact.zero_point = pair.zero_point;
}

__device__ float quantized_or_slope(const Affine& a, const CudaPixels& pixels, const float* pixel, std::int64_t place,
                                    bool divide) {
  if (place >= 2 * pixels.channels) return 0.0F;
  const bool is_slope = place >= pixels.channels;
  const float v = in_steps(pixel[is_slope ? place - pixels.channels : place], a, divide);
  return is_slope ? scale_slope(v, a.steps) * pixels.factor : nearest_step(v, a.steps) * a.scale;
}

// A thread has a pixel; the stride is a multiple of four.
__global__ void quantized_and_slopes_kernel(const AffineView view, const CudaPixels pixels, const float* x, float* to) {
  const Affine a = affine_at(view, 0);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < pixels.count; i += step)
    for (std::int64_t place = 0; place < pixels.stride; place += 4) {
      Pack<float, 4> pack;
#pragma unroll
      for (int k = 0; k < 4; ++k)
        pack.v[k] = quantized_or_slope(a, pixels, x + i * pixels.channels, place + k, view.divide);
      store<4>(to, i * pixels.stride + place, pack);
    }
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

void cuda_pact_params(const CudaPact& pact, float* found) {
  pact_params_kernel<<<1, 1, 0, cuda_stream()>>>(pact, found);
  check_cuda(cudaGetLastError(), "a clip that learns");
}

void cuda_quantized_and_slopes(const AffineView& view, const CudaPixels& pixels, const float* x, float* to) {
  if (pixels.count == 0) return;
  quantized_and_slopes_kernel<<<blocks_for(pixels.count, kThreads), kThreads, 0, cuda_stream()>>>(view, pixels, x, to);
  check_cuda(cudaGetLastError(), "slopes of a scale");
}

void cuda_slopes(const AffineView& view, float factor, const float* x, float* slopes) {
  map(view, Slope{view.divide, factor}, slopes, Memory{x});
}

}  // namespace quench

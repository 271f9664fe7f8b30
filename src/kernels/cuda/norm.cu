// A block per channel where there is a weight, a thread per channel where there is none.
#include "kernels/cuda/norm.h"

#include "kernels/cuda/reduce.cuh"

namespace quench {
namespace {

struct Sum {
  double value;
  __device__ void merge(const Sum& other) { value += other.value; }
};

template <int V>
__global__ void norm_weight_kernel(const NormWeightView view, const NormWeightResults to) {
  const std::int64_t c = blockIdx.x, start = c * view.inner;
  const float used = norm_factor(view.gamma[c], root_at(view, c), view.least).used;
  for (std::int64_t i = threadIdx.x * V; i < view.inner; i += kThreads * V) {
    auto pack = load<V>(view.weight, start + i);
#pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] *= used;
    store<V>(to.scaled, start + i, pack);
  }
  if (threadIdx.x == 0) put_factor(view, c, to);
}

template <int V>
__global__ void norm_weight_backward_kernel(const NormWeightGradients of) {
  const std::int64_t c = blockIdx.x, start = c * of.inner;
  const float used = factor_at(of, c).used;
  Sum sum{0.0};
  for (std::int64_t i = threadIdx.x * V; i < of.inner; i += kThreads * V) {
    auto gradient = load<V>(of.dscaled, start + i);
    const auto weight = load<V>(of.weight, start + i);
    float part = 0.0F;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      part += gradient.v[k] * weight.v[k];
      gradient.v[k] *= used;
    }
    sum.value += part;
    store<V>(of.dweight, start + i, gradient);
  }
  sum = team_merge(sum, kThreads);
  if (threadIdx.x == 0) put_gradients(of, c, sum.value);
}

__global__ void live_norm_kernel(const LiveNormView view, const LiveNormResults to) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c < view.channels) put_live_norm(view, c, to);
}

__global__ void live_norm_backward_kernel(std::int64_t channels, const LiveNormGradients of) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c < channels) put_live_norm_gradients(of, c);
}

}  // namespace

void cuda_norm_weight(const NormWeightView& view, const NormWeightResults& to) {
  if (view.channels == 0) return;
  const unsigned grid = cuda_grid(view.channels, "a weight for its norm");
  if (view.inner % 4 == 0 && aligned(view.weight) && aligned(to.scaled))
    norm_weight_kernel<4><<<grid, kThreads, 0, cuda_stream()>>>(view, to);
  else
    norm_weight_kernel<1><<<grid, kThreads, 0, cuda_stream()>>>(view, to);
  check_cuda(cudaGetLastError(), "a weight for its norm");
}

void cuda_norm_weight_backward(const NormWeightGradients& of) {
  if (of.channels == 0) return;
  const unsigned grid = cuda_grid(of.channels, "the gradient of a weight for its norm");
  if (of.inner % 4 == 0 && aligned(of.weight) && aligned(of.dscaled) && aligned(of.dweight))
    norm_weight_backward_kernel<4><<<grid, kThreads, 0, cuda_stream()>>>(of);
  else
    norm_weight_backward_kernel<1><<<grid, kThreads, 0, cuda_stream()>>>(of);
  check_cuda(cudaGetLastError(), "the gradient of a weight for its norm");
}

void cuda_live_norm(const LiveNormView& view, const LiveNormResults& to) {
  if (view.channels == 0) return;
  live_norm_kernel<<<cuda_grid(parts_of(view.channels, kThreads), "a live norm"), kThreads, 0, cuda_stream()>>>(view,
                                                                                                                to);
  check_cuda(cudaGetLastError(), "a live norm");
}

void cuda_live_norm_backward(std::int64_t channels, const LiveNormGradients& of) {
  if (channels == 0) return;
  const unsigned grid = cuda_grid(parts_of(channels, kThreads), "the gradient of a live norm");
  live_norm_backward_kernel<<<grid, kThreads, 0, cuda_stream()>>>(channels, of);
  check_cuda(cudaGetLastError(), "the gradient of a live norm");
}

}  // namespace quench

// A thread has four neighbouring channels of a place.
#include "kernels/cuda/each.cuh"
#include "kernels/cuda/finish_conv.h"

namespace quench {
namespace {

using Four = Pack<float, 4>;

__global__ void finish_conv_kernel(const CudaConvFinish finish, float* y, std::int64_t fours) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const auto width = static_cast<std::uint32_t>(finish.channels / 4);
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < fours; i += step) {
    Four out = load<4>(y, 4 * i);
    const Four none = {};
    const auto channel = 4 * static_cast<std::int64_t>(static_cast<std::uint64_t>(i) % width);
    const Four bias = finish.bias ? load<4>(finish.bias, channel) : none;
    const Four other = finish.residual ? load<4>(finish.residual, 4 * i) : none;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float v = out.v[k] + bias.v[k] + other.v[k];
      out.v[k] = v < finish.low ? finish.low : v > finish.high ? finish.high : v;  // a NaN is neither
    }
    store<4>(y, 4 * i, out);
  }
}

}  // namespace

void cuda_finish_conv(const CudaConvFinish& finish, float* y) {
  const std::int64_t fours = finish.count / 4;
  if (fours == 0) return;
  finish_conv_kernel<<<blocks_for(fours, kThreads), kThreads, 0, cuda_stream()>>>(finish, y, fours);
  check_cuda(cudaGetLastError(), "the end of a convolution");
}

}  // namespace quench

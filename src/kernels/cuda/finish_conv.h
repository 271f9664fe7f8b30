// kernels/finish_conv.h on CUDA, on raw memory: channels last, their number a multiple of four.
#pragma once

#include <cstdint>

namespace quench {

struct CudaConvFinish {
  std::int64_t count, channels;
  const float *bias, *residual;  // or null
  float low, high;
};

void cuda_finish_conv(const CudaConvFinish& finish, float* y);

}  // namespace quench

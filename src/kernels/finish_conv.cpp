#include "kernels/finish_conv.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>

#ifdef QUENCH_WITH_CUDA
#include <c10/cuda/CUDAGuard.h>

#include "kernels/cuda/finish_conv.h"
#endif

namespace quench {
namespace {

void finish_by_parts(at::Tensor& y, const ConvFinish& finish) {
  if (finish.bias.defined()) y.add_(finish.bias.view({1, -1, 1, 1}));
  if (finish.residual.defined()) y.add_(finish.residual);
  if (std::isfinite(finish.low)) y.clamp_min_(finish.low);
  if (std::isfinite(finish.high)) y.clamp_max_(finish.high);
}

#ifdef QUENCH_WITH_CUDA

bool is_aligned(const at::Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) % 16 == 0; }

bool is_dense(const at::Tensor& t) { return t.is_contiguous(at::MemoryFormat::ChannelsLast) && is_aligned(t); }

// Four neighbouring channels at a time.
bool has_kernel(const at::Tensor& y, const ConvFinish& finish) {
  return y.is_cuda() && y.scalar_type() == at::kFloat && is_dense(y) && y.size(1) % 4 == 0 &&
         (!finish.residual.defined() || is_dense(finish.residual)) &&
         (!finish.bias.defined() || (finish.bias.is_contiguous() && is_aligned(finish.bias)));
}

const float* data_of(const at::Tensor& t) { return t.defined() ? t.const_data_ptr<float>() : nullptr; }

bool finish_on_cuda(at::Tensor& y, const ConvFinish& finish) {
  if (!has_kernel(y, finish)) return false;
  const c10::cuda::CUDAGuard device(y.device());
  cuda_finish_conv({y.numel(), y.size(1), data_of(finish.bias), data_of(finish.residual), finish.low, finish.high},
                   y.mutable_data_ptr<float>());
  return true;
}

#else

bool finish_on_cuda(at::Tensor&, const ConvFinish&) { return false; }

#endif

}  // namespace

void finish_conv(at::Tensor& y, const ConvFinish& finish) {
  if (!finish_on_cuda(y, finish)) finish_by_parts(y, finish);
}

}  // namespace quench

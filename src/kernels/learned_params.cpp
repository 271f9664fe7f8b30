#include "kernels/learned_params.h"

#include <ATen/ATen.h>

#ifdef QUENCH_WITH_CUDA
#include <c10/cuda/CUDAGuard.h>

#include "kernels/cuda/learned_params.h"
#include "kernels/job.h"
#endif

namespace quench {

#ifdef QUENCH_WITH_CUDA

namespace {

bool fits(const at::Tensor& tensor) {
  return tensor.is_cuda() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

}  // namespace

bool learned_params_in_one(const at::Tensor& scale, const at::Tensor& zero_point, const ParamRule& rule,
                           at::Tensor& used_scale, at::Tensor& used_zero) {
  if (!fits(scale) || !fits(zero_point)) return false;
  const c10::cuda::CUDAGuard device(scale.device());
  used_scale = at::empty_like(scale.detach());
  used_zero = at::empty_like(zero_point.detach());
  const CudaParams scales{scale.numel(), scale.variable_data().mutable_data_ptr<float>(),
                          used_scale.mutable_data_ptr<float>()};
  const CudaParams zeros{zero_point.numel(), zero_point.variable_data().mutable_data_ptr<float>(),
                         used_zero.mutable_data_ptr<float>()};
  cuda_learned_params(scales, zeros, rule);
  return true;
}

bool slopes_in_one(const at::Tensor& x, const AffineArgs& args, double factor, at::Tensor& slopes) {
  if (!x.is_cuda() || x.scalar_type() != at::kFloat) return false;
  const Job job(x, args);
  at::Tensor computed = job.empty();
  cuda_slopes(job.view(), static_cast<float>(factor), job.x().const_data_ptr<float>(),
              computed.mutable_data_ptr<float>());
  slopes = job.result(computed);
  return true;
}

bool pact_params_in_one(const PactParams& params, at::Tensor& found) {
  const bool all = fits(params.alpha) && (!params.beta.defined() || fits(params.beta)) && fits(params.scale) &&
                   fits(params.zero_point);
  if (!all) return false;
  const c10::cuda::CUDAGuard device(params.alpha.device());
  found = at::empty({4}, params.alpha.options().requires_grad(false));
  const auto target = [&](const at::Tensor& tensor) {
    return params.write ? tensor.variable_data().mutable_data_ptr<float>() : nullptr;
  };
  const CudaPact pact{params.alpha.const_data_ptr<float>(),
                      params.beta.defined() ? params.beta.const_data_ptr<float>() : nullptr, target(params.scale),
                      target(params.zero_point), params.rule};
  cuda_pact_params(pact, found.mutable_data_ptr<float>());
  return true;
}

bool quantized_and_slopes_in_one(const at::Tensor& x, const AffineArgs& args, double factor, at::Tensor& both) {
  const bool fits = x.is_cuda() && x.scalar_type() == at::kFloat && x.dim() == 4 &&
                    x.is_contiguous(at::MemoryFormat::ChannelsLast) && args.scale.numel() == 1;
  if (!fits) return false;
  const Job job(x, args);
  const std::int64_t stride = (2 * x.size(1) + 3) / 4 * 4;
  both = at::empty({x.size(0), stride, x.size(2), x.size(3)}, x.options(), at::MemoryFormat::ChannelsLast);
  const CudaPixels pixels{x.numel() / x.size(1), x.size(1), stride, static_cast<float>(factor)};
  cuda_quantized_and_slopes(job.view(), pixels, x.const_data_ptr<float>(), both.mutable_data_ptr<float>());
  return true;
}

#else

bool pact_params_in_one(const PactParams&, at::Tensor&) { return false; }
bool quantized_and_slopes_in_one(const at::Tensor&, const AffineArgs&, double, at::Tensor&) { return false; }
bool learned_params_in_one(const at::Tensor&, const at::Tensor&, const ParamRule&, at::Tensor&, at::Tensor&) {
  return false;
}
bool slopes_in_one(const at::Tensor&, const AffineArgs&, double, at::Tensor&) { return false; }

#endif

}  // namespace quench

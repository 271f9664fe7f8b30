#include "kernels/norm.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>

#include "kernels/norm_channel.h"
#include "kernels/parallel.h"
#include "kernels/simd/simd.h"

#ifdef QUENCH_WITH_CUDA
#include "kernels/cuda/norm.h"
#endif

namespace quench {
namespace {

const float* from(const at::Tensor& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }
float* into(const at::Tensor& x) { return x.defined() ? x.mutable_data_ptr<float>() : nullptr; }

// One number per channel, or undefined.
bool fits(const at::Tensor& x, const at::Tensor& gamma) {
  return !x.defined() || (x.scalar_type() == at::kFloat && x.device() == gamma.device() && x.is_contiguous() &&
                          x.numel() == gamma.numel());
}

bool on_known_device(const at::Tensor& x) {
#ifdef QUENCH_WITH_CUDA
  return x.is_cpu() || x.is_cuda();
#else
  return x.is_cpu();
#endif
}

NormWeightView view_of(const NormWeightIn& in) {
  NormWeightView view;
  view.channels = in.weight.size(0);
  view.inner = view.channels > 0 ? in.weight.numel() / view.channels : 0;
  view.weight = from(in.weight);
  view.gamma = from(in.gamma);
  view.variance = from(in.variance);
  view.mean = from(in.mean);
  view.beta = from(in.beta);
  view.bias = from(in.bias);
  view.epsilon = static_cast<float>(in.epsilon);
  view.least = static_cast<float>(in.least);
  return view;
}

std::int64_t channels_per_thread(std::int64_t inner) {
  constexpr std::int64_t kPart = 32768;
  return std::max<std::int64_t>(1, kPart / std::max<std::int64_t>(inner, 1));
}

void scale_on_cpu(const NormWeightView& view, const NormWeightResults& to) {
  in_parallel(view.channels, channels_per_thread(view.inner), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t c = first; c < last; ++c) {
      put_factor(view, c, to);
      simd().scale(view.weight + c * view.inner, view.inner, to.factor[c], to.scaled + c * view.inner);
    }
  });
}

void backward_on_cpu(const NormWeightGradients& of) {
  in_parallel(of.channels, channels_per_thread(of.inner), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t c = first; c < last; ++c) {
      const std::int64_t at = c * of.inner;
      const ScaledRow row{of.inner, factor_at(of, c).used};
      put_gradients(of, c, simd().scale_backward(row, of.dscaled + at, of.weight + at, of.dweight + at));
    }
  });
}

// On the device of a tensor: on_cuda in builds with it, else on_cpu.
template <class OnCpu, class OnCuda>
void run_on(const at::Tensor& where, const OnCpu& on_cpu, const OnCuda& on_cuda) {
  if (where.is_cpu()) return on_cpu();
  const c10::DeviceGuard device(where.device());
  on_cuda();
}

at::Tensor like(const at::Tensor& x) { return x.defined() ? at::empty_like(x.detach()) : at::Tensor(); }

}  // namespace

bool fits_norm_weight(const NormWeightIn& in) {
  const at::Tensor& w = in.weight;
  const bool outermost = w.dim() > 0 && w.numel() > 0 && w.is_non_overlapping_and_dense() &&
                         (w.size(0) == 1 || w.stride(0) == w.numel() / w.size(0));
  if (!outermost || w.scalar_type() != at::kFloat || !on_known_device(w)) return false;
  const at::Tensor& gamma = in.gamma;
  if (gamma.numel() != w.size(0) || gamma.device() != w.device()) return false;
  return fits(gamma, gamma) && fits(in.variance, gamma) && fits(in.mean, gamma) && fits(in.beta, gamma) &&
         fits(in.bias, gamma);
}

NormWeightOut norm_weight_forward(const NormWeightIn& in) {
  const at::Tensor scaled = like(in.weight), factor = like(in.gamma), folded = like(in.beta);
  const at::Tensor root = like(in.gamma), centred = like(in.beta);
  const NormWeightView view = view_of(in);
  const NormWeightResults to{into(scaled), into(factor), into(folded), into(root), into(centred)};
  run_on(
      in.weight, [&] { scale_on_cpu(view, to); },
      [&] {
#ifdef QUENCH_WITH_CUDA
        cuda_norm_weight(view, to);
#endif
      });
  if (!folded.defined()) return {{scaled, factor}, {root}};
  return {{scaled, factor, folded}, {root, centred}};
}

std::vector<at::Tensor> norm_weight_backward(const std::vector<at::Tensor>& gradients, const NormWeightSaved& saved) {
  const bool folds = gradients.size() > 2;
  const auto dense = [](const at::Tensor& x) { return x.defined() ? x.contiguous() : x; };
  at::Tensor dscaled = gradients[0];
  if (!dscaled.defined()) dscaled = at::zeros_like(saved.weight);
  if (dscaled.strides() != saved.weight.strides()) dscaled = like(saved.weight).copy_(dscaled);
  const at::Tensor dfactor = dense(gradients[1]), dfolded = folds ? dense(gradients[2]) : at::Tensor();
  const at::Tensor dweight = like(saved.weight), dgamma = like(saved.gamma);
  const at::Tensor dbeta = folds ? like(saved.gamma) : at::Tensor(), dbias = folds ? like(saved.gamma) : at::Tensor();
  NormWeightGradients of;
  of.channels = saved.weight.size(0);
  of.inner = saved.weight.numel() / of.channels;
  of.weight = from(saved.weight);
  of.gamma = from(saved.gamma);
  of.root = from(saved.kept[0]);
  if (folds) of.centred = from(saved.kept[1]);
  of.least = static_cast<float>(saved.least);
  of.dscaled = from(dscaled);
  of.dfactor = from(dfactor);
  of.dfolded = from(dfolded);
  of.dweight = into(dweight);
  of.dgamma = into(dgamma);
  of.dbeta = into(dbeta);
  of.dbias = into(dbias);
  run_on(
      saved.weight, [&] { backward_on_cpu(of); },
      [&] {
#ifdef QUENCH_WITH_CUDA
        cuda_norm_weight_backward(of);
#endif
      });
  return {dweight, dgamma, dbeta, dbias};
}

bool fits_live_norm(const LiveNormIn& in) {
  const at::Tensor& gamma = in.gamma;
  const bool all = fits(in.k, gamma) && fits(in.bias, gamma) && fits(in.added, gamma) && fits(in.mean, gamma) &&
                   fits(in.variance, gamma) && fits(in.running_mean, gamma) && fits(in.running_variance, gamma);
  return fits(gamma, gamma) && all && on_known_device(gamma);
}

std::vector<at::Tensor> live_norm_forward(const LiveNormIn& in) {
  const at::Tensor weight = like(in.gamma), variance = like(in.gamma), inverse = like(in.gamma);
  LiveNormView view;
  view.channels = in.gamma.numel();
  view.gamma = from(in.gamma);
  view.k = from(in.k);
  view.bias = from(in.bias);
  view.added = from(in.added);
  view.mean = from(in.mean);
  view.variance = from(in.variance);
  view.running_mean = into(in.running_mean);
  view.running_variance = into(in.running_variance);
  view.epsilon = static_cast<float>(in.epsilon);
  view.momentum = static_cast<float>(in.momentum);
  view.unbiased_momentum = static_cast<float>(in.momentum * in.count / (in.count - 1.0));
  const LiveNormResults to{into(weight), into(variance), into(inverse)};
  const auto on_cpu = [&] {
    for (std::int64_t c = 0; c < view.channels; ++c) put_live_norm(view, c, to);
  };
  run_on(in.gamma, on_cpu, [&] {
#ifdef QUENCH_WITH_CUDA
    cuda_live_norm(view, to);
#endif
  });
  return {weight, variance, inverse};
}

void live_norm_backward(const LiveNormBackward& of, at::Tensor& dgamma, at::Tensor& dk) {
  dgamma = like(of.weight);
  dk = like(of.weight);
  const LiveNormGradients gradients{
      from(of.dweight), from(of.weight), from(of.inverse), from(of.k), static_cast<float>(of.epsilon),
      into(dgamma),     into(dk)};
  const std::int64_t channels = of.weight.numel();
  const auto on_cpu = [&] {
    for (std::int64_t c = 0; c < channels; ++c) put_live_norm_gradients(gradients, c);
  };
  run_on(of.weight, on_cpu, [&] {
#ifdef QUENCH_WITH_CUDA
    cuda_live_norm_backward(channels, gradients);
#endif
  });
}

}  // namespace quench

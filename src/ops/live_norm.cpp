// quench.LiveNorm: what follows a layer whose BatchNormalization is live (docs/numerics.md 8.2), as one batch norm.
//   inputs   x, the layer's output; gamma, beta, running mean, running variance; k, any shape with an element per
//            channel; the layer's bias b or none; the bias c that the layer has already added, or none
//   output   BatchNormalization((x - c) / k + b), with its attributes epsilon and momentum
// In training c and b shift what the batch's mean takes off again, and dividing by k only scales epsilon:
//   z = (x - mean') * (var' + epsilon k^2)^(-1/2) * sign(k) gamma + beta      mean', var' of x itself
// so that x is read as often as by a batch norm alone. The gradient of k comes through epsilon, that of b is zero.
// Where several processes share a batch, mean', var' and the means that the gradient takes are those of all of it.
// Made by the pass fuse_live_norms.
#include <ATen/ATen.h>

#include "kernels/norm.h"
#include "ops/arguments.h"
#include "ops/batch_norm.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/gradient.h"
#include "quench/op.h"

namespace quench {
namespace {

// Slots.
constexpr std::size_t kX = 0, kGamma = 1, kBeta = 2, kMean = 3, kVariance = 4, kFactor = 5, kBias = 6, kAdded = 7;

// What the layer's output, divided by k, still lacks: b - c / k. Undefined where there is neither.
at::Tensor shift_of(const Inputs& in, const at::Tensor& k) {
  at::Tensor shift = tensor_or_undefined(in, kBias);
  if (!given(in, kAdded)) return shift;
  const at::Tensor taken = in[kAdded].tensor() / k;
  return shift.defined() ? shift - taken : -taken;
}

struct BatchStatistics {
  at::Tensor mean, variance;  // of x; the variance is biased
};

// Mean and mean square in float64: what one process would have found, but for the rounding of its float means.
BatchStatistics statistics_of_all(const BatchStatistics& own, const BatchShares& shares) {
  const at::Tensor mean = own.mean.to(at::kDouble);
  at::Tensor moments = at::stack({mean, own.variance.to(at::kDouble) + mean.square()});
  shares.mean(moments);
  const at::Tensor of_all = moments[0];
  return {of_all.to(own.mean.scalar_type()),
          (moments[1] - of_all.square()).clamp_min(0).to(own.variance.scalar_type())};
}

BatchStatistics statistics_of(const at::Tensor& x, const at::Tensor& like, const BatchShares* shares) {
  // Given running statistics, LibTorch computes in their type: float beside half data. What is in them does not matter.
  const at::Tensor none = at::empty_like(like);
  const auto [mean, variance] = at::batch_norm_update_stats(x, none, at::empty_like(like), 0.0);
  const BatchStatistics own{mean, variance};
  return shares ? statistics_of_all(own, *shares) : own;
}

double values_per_channel(const at::Tensor& x, const BatchShares* shares) {
  return static_cast<double>(x.numel()) / static_cast<double>(x.size(1)) * (shares ? shares->count : 1);
}

// The running statistics are those of x / k + shift, the variance unbiased.
void update_running(const Node& node, const Inputs& in, const BatchStatistics& batch, const at::Tensor& k,
                    double count) {
  const double momentum = torch_momentum(node);
  const at::Tensor shift = shift_of(in, k);
  at::Tensor mean = batch.mean / k, running_mean = in[kMean].tensor(), running_variance = in[kVariance].tensor();
  if (shift.defined()) mean = mean + shift;
  running_mean.mul_(1.0 - momentum).add_(mean, momentum);
  running_variance.mul_(1.0 - momentum).add_(batch.variance / k.square(), momentum * count / (count - 1.0));
}

// What the elements are normalized by: sign(k) gamma, var' + epsilon k^2 and its root's inverse.
struct Normalizer {
  at::Tensor weight, variance, inverse;
};

Normalizer normalizer_of(const Node& node, const Inputs& in, const BatchStatistics& batch, const at::Tensor& k,
                         double count) {
  const double epsilon = node.get_float("epsilon", 1e-5);
  const at::Tensor gamma = in[kGamma].tensor().detach(), bias = tensor_or_undefined(in, kBias),
                   added = tensor_or_undefined(in, kAdded);
  const LiveNormIn all{gamma,
                       k,
                       bias,
                       added,
                       batch.mean,
                       batch.variance,
                       in[kMean].tensor(),
                       in[kVariance].tensor(),
                       epsilon,
                       torch_momentum(node),
                       count};
  if (fits_live_norm(all)) {
    const Tensors found = live_norm_forward(all);
    return {found[0], found[1], found[2]};
  }
  update_running(node, in, batch, k, count);
  const at::Tensor variance = batch.variance + k.square() * epsilon;
  return {at::where(k < 0, -gamma, gamma), variance, variance.rsqrt()};
}

at::Tensor normalized(const at::Tensor& x, const Normalizer& by, const at::Tensor& beta, const at::Tensor& mean) {
  if (x.is_cuda()) return at::batch_norm_elemt(x, by.weight, beta, mean, by.inverse, 0.0);  // one kernel
  return std::get<0>(at::native_batch_norm(x, by.weight, beta, mean, by.variance, /*training=*/false, 0.0, 0.0));
}

struct NormGradients {
  at::Tensor dx, dweight, dbeta;
};

// Per channel dx = weight * inverse * (dz - mean(dz) - xhat * mean(dz * xhat)), xhat = (x - mean) * inverse. Its first
// term is the gradient for statistics that are given; the means are those of all shares.
NormGradients gradients_of_share(const at::Tensor& dz, const Tensors& saved, const BatchShares& shares) {
  const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3], &variance = saved[5];
  const auto [dx, dweight, dbeta] = at::native_batch_norm_backward(dz, x, weight, mean, variance, {}, {},
                                                                   /*train=*/false, 0.0, {true, true, true});
  at::Tensor means = at::stack({dbeta, dweight}).to(at::kDouble).div_(values_per_channel(x, nullptr));
  shares.mean(means);
  means = means.to(weight.scalar_type());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  const at::Tensor slope = weight * inverse.square() * means[1], offset = weight * inverse * means[0] - mean * slope;
  at::Tensor whole = dx;
  whole.sub_(at::addcmul(offset.view(shape), x.to(slope.scalar_type()), slope.view(shape)));
  return {whole, dweight, dbeta};
}

NormGradients gradients_of_batch(const at::Tensor& dz, const Tensors& saved, double epsilon) {
  const auto [dx, dweight, dbeta] = at::native_batch_norm_backward(dz, saved[0], saved[1], {}, {}, saved[2], saved[3],
                                                                   /*train=*/true, epsilon, {true, true, true});
  return {dx, dweight, dbeta};
}

// saved: x, sign(k) gamma, mean', (var' + epsilon k^2)^(-1/2), k, var' + epsilon k^2.
Tensors training_gradients(const at::Tensor& dz, const Tensors& saved, double epsilon, const at::Tensor& bias,
                           const BatchShares* shares) {
  const at::Tensor &x = saved[0], &weight = saved[1], &inverse = saved[3], &k = saved[4];
  const at::Tensor like_x = dz.contiguous(x.suggest_memory_format());  // else LibTorch's slow loop
  const auto [dx, dweight, dbeta] =
      shares ? gradients_of_share(like_x, saved, *shares) : gradients_of_batch(like_x, saved, epsilon);
  if (dweight.scalar_type() != at::kFloat || weight.scalar_type() != at::kFloat || k.scalar_type() != at::kFloat) {
    const at::Tensor dk = dweight * weight * inverse.square() * k * -epsilon;
    return {dx, at::where(k < 0, -dweight, dweight), dbeta, dk, bias};
  }
  at::Tensor dgamma, dk;
  live_norm_backward({dweight, weight, inverse, k.contiguous(), epsilon}, dgamma, dk);
  return {dx, dgamma, dbeta, dk, bias};
}

at::Tensor normalize_by_batch(const Node& node, const Inputs& in, const at::Tensor& k, const BatchShares* shares) {
  const double epsilon = node.get_float("epsilon", 1e-5);
  BatchStatistics batch;
  Normalizer by;
  const auto forward = [&](const Tensors& of) {
    batch = statistics_of(of[0], of[1], shares);
    by = normalizer_of(node, in, batch, of[3].detach(), values_per_channel(of[0], shares));
    count_batch(node);
    return normalized(of[0], by, of[2], batch.mean);
  };
  Tensors inputs = {in[kX].tensor(), in[kGamma].tensor(), in[kBeta].tensor(), k};
  if (given(in, kBias)) inputs.push_back(in[kBias].tensor());
  const at::Tensor no_gradient = given(in, kBias) ? at::zeros_like(in[kBias].tensor().detach()) : at::Tensor();
  return apply_rule(inputs, {.forward = forward,
                             .backward =
                                 [epsilon, no_gradient, shares](const at::Tensor& dz, const Tensors& saved) {
                                   return training_gradients(dz, saved, epsilon, no_gradient, shares);
                                 },
                             .save = [&](const Tensors& of, const at::Tensor&) -> Tensors {
                               return {of[0], by.weight, batch.mean, by.inverse, of[3], by.variance};
                             }});
}

// One affine per channel.
at::Tensor normalize_by_running(const Inputs& in, const at::Tensor& k, double epsilon) {
  const at::Tensor &mean = in[kMean].tensor(), &variance = in[kVariance].tensor();
  const at::Tensor factor = in[kGamma].tensor() / (variance + epsilon).sqrt(), shift = shift_of(in, k);
  const at::Tensor centre = shift.defined() ? shift - mean : -mean;
  return at::batch_norm(in[kX].tensor(), factor / k, centre * factor + in[kBeta].tensor(), at::zeros_like(mean),
                        at::ones_like(variance), /*training=*/false, 0.0, 0.0, /*cudnn_enabled=*/false);
}

void check(const Node& node, const Inputs& in) {
  const at::Tensor& x = in[kX].tensor();
  QUENCH_CHECK(x.dim() > 1, node.where(), ": data of the shape ", x.sizes(), " has no channels");
  const std::int64_t channels = x.size(1);
  const bool reduced = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
  for (const std::size_t slot : {kGamma, kBeta, kMean, kVariance, kFactor}) {
    const at::ScalarType type = in[slot].tensor().scalar_type();
    QUENCH_CHECK(in[slot].tensor().numel() == channels, node.where(), ": input ", slot, " has ",
                 in[slot].tensor().numel(), " elements for ", channels, " channels");
    QUENCH_CHECK(
        type == in[kGamma].tensor().scalar_type() && (type == x.scalar_type() || (reduced && type == at::kFloat)),
        node.where(), ": input ", slot, " is ", type, " beside data of ", x.scalar_type(),
        "; scale, bias, statistics and factors must have one type, the data's or, for half data, float");
  }
}

std::vector<RtValue> live_norm(const Node& node, const Inputs& in, ExecContext& context) {
  const double epsilon = node.get_float("epsilon", 1e-5);
  check(node, in);
  const at::Tensor &x = in[kX].tensor(), k = in[kFactor].tensor().flatten();
  if (!context.training || node.frozen) return {normalize_by_running(in, k, epsilon)};
  QUENCH_CHECK(values_per_channel(x, context.shares) > 1, node.where(),
               ": training needs more than one value per channel, found data of ", x.sizes());
  return {normalize_by_batch(node, in, k, context.shares)};
}

OpTraits live_norm_traits() {
  OpTraits traits;
  traits.parameter_slots = {kGamma, kBeta, kBias};
  traits.buffer_slots = {kMean, kVariance};
  return traits;
}

}  // namespace

at::Tensor normalize_with_shares(const Node& node, const Inputs& in, const BatchShares& shares) {
  Inputs with_factor(in.begin(), in.begin() + kFactor);
  const at::Tensor ones = at::ones_like(in[kGamma].tensor().detach());
  with_factor.push_back(RtValue(ones, in[kGamma].dtype()));
  return normalize_by_batch(node, with_factor, ones, &shares);
}

QUENCH_REGISTER_OP("quench.LiveNorm", live_norm, same_as_input, live_norm_traits(),
                   "a live BatchNormalization with the division and the bias in front of it, in one")

}  // namespace quench

// quench.NormWeight: a weight and a bias as they are once the BatchNormalization after the layer is folded
// (docs/numerics.md 8.1, 8.2), so that a quantizer can see them while the BatchNormalization still trains.
//   inputs   weight, gamma, variance, and for the bias: mean, beta, the layer's own bias (or none)
//   outputs  W * k; k shaped to divide the layer's output; (b - mean) * k + beta      k = gamma / sqrt(variance + eps)
//   attributes epsilon, axis and group (where the channels lie), guard: 1 where the layer's output is divided by k
//   again; momentum of the BatchNormalization, only kept
// With guard the first two outputs have k_s = sign(k) max(|k|, 1e-5) in place of k, sign(0) being +1. Gradients reach
// weight, gamma, beta and bias; the statistics have none.
#include "ops/norm_weight.h"

#include <ATen/ATen.h>

#include "kernels/norm.h"
#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/gradient.h"
#include "quench/op.h"

namespace quench {
namespace {

ChannelPlace place_of(const Node& node) {
  return {static_cast<int>(node.get_int("axis", 0)), node.get_int("group", 1)};
}

at::Tensor guarded(const at::Tensor& k) {
  // -2 e or 0, plus e: choosing between two numbers would copy them to a GPU and wait for it.
  const at::Tensor least = (k.detach() < 0).to(k.scalar_type()).mul_(-2 * kLeastNormFactor).add_(kLeastNormFactor);
  return at::where(k.detach().abs() < kLeastNormFactor, least, k);
}

// In one loop, or on a GPU one kernel, each way.
Tensors fused(const NormWeightIn& in) {
  Tensors inputs = {in.weight, in.gamma};
  if (in.beta.defined()) inputs.push_back(in.beta);
  if (in.bias.defined()) inputs.push_back(in.bias);
  Tensors kept = {in.weight.detach(), in.gamma.detach()};
  return apply_rules(
      inputs, {.forward =
                   [&](const Tensors&) {
                     const NormWeightOut out = norm_weight_forward(in);
                     kept.insert(kept.end(), out.kept.begin(), out.kept.end());
                     return out.results;
                   },
               .backward = [least = in.least](const Tensors& gradients, const Tensors& saved) -> Tensors {
                 return norm_weight_backward(gradients, {saved[0], saved[1], {saved.begin() + 2, saved.end()}, least});
               },
               .save = [&](const Tensors&, const Tensors&) { return kept; }});
}

std::vector<RtValue> norm_weight(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &weight = in[0].tensor(), &gamma = in[1].tensor();
  const ChannelPlace place = place_of(node);
  QUENCH_CHECK(place.axis >= 0 && place.axis < weight.dim() && place.group > 0, node.where(), ": a weight of rank ",
               weight.dim(), " has no axis ", place.axis, " with ", place.group, " groups");
  QUENCH_CHECK(gamma.numel() == channels_of(weight, place), node.where(), ": ", gamma.numel(),
               " factors for a weight of ", channels_of(weight, place), " output channels");
  const bool folds = wants_output(node, 2), guards = node.get_int("guard", 0) != 0;
  const double epsilon = node.get_float("epsilon", 1e-5);
  const at::Tensor none, bias = folds && given(in, 5) ? in[5].tensor() : none;
  const NormWeightIn all{weight,
                         gamma,
                         in[2].tensor(),
                         folds ? in[3].tensor() : none,
                         folds ? in[4].tensor() : none,
                         bias,
                         epsilon,
                         guards ? kLeastNormFactor : 0.0};
  if (place.axis == 0 && place.group == 1 && fits_norm_weight(all)) {
    const Tensors found = fused(all);
    std::vector<RtValue> results = {found[0], per_channel(found[1], weight.dim())};
    if (folds) results.emplace_back(found[2]);
    return results;
  }
  const at::Tensor k = gamma / (in[2].tensor() + epsilon).sqrt();
  const at::Tensor scale = guards ? guarded(k) : k;
  std::vector<RtValue> results = {scale_channels(weight, scale, place), per_channel(scale, weight.dim())};
  if (!folds) return results;
  const at::Tensor centred = bias.defined() ? bias - in[3].tensor() : -in[3].tensor();
  results.emplace_back(centred * k + in[4].tensor());
  return results;
}

void norm_weight_shapes(Node& node) {
  const std::optional<Dims> weight = input_dims(node, 0), gamma = input_dims(node, 1);
  set_type(node, 0, input_dtype(node, 0), weight);
  std::optional<Dims> factors;
  if (weight && weight->size() > 1 && gamma && gamma->size() == 1) {
    factors = Dims(weight->size(), Dim(1));
    (*factors)[1] = gamma->front();
  }
  set_type(node, 1, input_dtype(node, 0), factors);
  set_type(node, 2, input_dtype(node, 0), gamma);
}

OpTraits norm_weight_traits() {
  OpTraits traits;
  traits.parameter_slots = {0, 1, 4, 5};
  traits.buffer_slots = {2, 3};
  return traits;
}

}  // namespace

ChannelPlace channel_place(const Node& layer) {
  return {entry_of(layer).traits.weight_axis(layer),
          layer.op() == "ConvTranspose" ? layer.get_int("group", 1) : std::int64_t{1}};
}

std::int64_t channels_of(const at::Tensor& weight, const ChannelPlace& place) {
  return weight.size(place.axis) * place.group;
}

at::Tensor scale_channels(const at::Tensor& weight, const at::Tensor& k, const ChannelPlace& place) {
  if (place.group == 1) return weight * per_channel(k, weight.dim(), place.axis);
  const std::int64_t inputs = weight.size(0) / place.group, outputs = weight.size(1);
  const at::Tensor grouped = weight.reshape({place.group, inputs, outputs, -1});
  return (grouped * k.reshape({place.group, 1, outputs, 1})).reshape(weight.sizes());
}

QUENCH_REGISTER_OP("quench.NormWeight", norm_weight, norm_weight_shapes, norm_weight_traits(),
                   "a weight as it is once the BatchNormalization after its layer is folded")

}  // namespace quench

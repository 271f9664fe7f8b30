// quench.ConvOfInput: a Conv of a model input that a quantizer with a learned scale reads first.
//   inputs   the quantized input q, W, B or none, as a Conv; x, scale and zero point of the quantizer in front
//   output   conv(q, W) + B
// An input needs no gradient, only its scale does, and that is a number. Backward through the layer would compute the
// gradient of every pixel for it, the dearest part of the first layer. But sum(dq * slope) with dq = conv'(dy, W) is
// sum(dy * conv(slope, W)): a forward convolution; or sum(W * dW) with dW the gradient of that one's weight, which a
// GPU finds sooner than a sum over all of dy. Made by the pass skip_input_gradients, from LSQ's quantizers.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>

#include "fake_quant/learned_scale.h"
#include "fake_quant/lsq.h"
#include "ops/arguments.h"
#include "ops/conv.h"
#include "quench/error.h"
#include "quench/gradient.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

constexpr std::size_t kQuantized = 0, kWeight = 1, kX = 3, kScale = 4, kZeroPoint = 5;

FakeQuantSpec spec_in_front_of(const Node& node) {
  const Node* quantizer = quantizer_in_front(node, kQuantized);
  QUENCH_CHECK(quantizer, node.where(), ": its first input must come from a quantizer");
  return fake_quant_of(*quantizer)->spec();
}

// sum(a * b) without their product in memory; of the same layout, as results of convolutions are.
at::Tensor sum_of_products(const at::Tensor& a, const at::Tensor& b) {
  const at::MemoryFormat format = a.suggest_memory_format();
  const std::vector<std::int64_t> sizes = {a.size(0), a.numel() / a.size(0)}, strides = {sizes[1], 1};
  const at::Tensor rows = a.contiguous(format).as_strided(sizes, strides),
                   others = b.contiguous(format).as_strided(sizes, strides);
  return at::bmm(rows.unsqueeze(1), others.unsqueeze(2)).sum(at::kFloat);
}

// The gradient of a factor of `slopes`, which the layer takes as its input.
at::Tensor factor_gradient(const ConvForm& form, const at::Tensor& dy, const at::Tensor& slopes, const at::Tensor& w) {
  const at::Tensor x = slopes.to(dy.scalar_type()), like_dy = w.to(dy.scalar_type());
  if (dy.is_cuda()) return (weight_gradient(form, dy, x, like_dy).to(at::kFloat) * w).sum();
  return sum_of_products(dy, convolve(form, x, like_dy, std::nullopt));
}

// y unchanged, with a gradient for the scale. saved: x, scale, zero point, weight.
at::Tensor with_scale_gradient(const at::Tensor& y, const ConvForm& form, const FakeQuantSpec& spec, const Inputs& in) {
  const at::Tensor &x = in[kX].tensor(), &scale = in[kScale].tensor();
  const at::Tensor used = used_scale(scale, spec.scheme), zero = in[kZeroPoint].tensor().detach();
  const at::Tensor weight = in[kWeight].tensor().detach();
  return apply_rule(
      {y, scale}, {.forward = [](const Tensors& given) { return given[0]; },
                   .backward = [form, spec](const at::Tensor& dy, const Tensors& saved) -> Tensors {
                     const at::Tensor slopes =
                         lsq_slopes(saved[0].to(at::kFloat), {saved[1], saved[2], spec.scheme, spec.by}, spec.options);
                     return {dy, factor_gradient(form, dy, slopes, saved[3]).reshape(saved[1].sizes())};
                   },
                   .save = [&](const Tensors&, const at::Tensor&) -> Tensors { return {x, used, zero, weight}; }});
}

// Both gradients of the layer, of its weight and of the scale, from one pass over dy: the quantized input and its
// slopes stand side by side as channels, padded to what tensor cores take. saved: x, scale, zero point, weight.
Tensors joint_gradients(const ConvForm& form, const FakeQuantSpec& spec, const at::Tensor& dy, const Tensors& saved) {
  const at::Tensor &x = saved[0], &scale = saved[1], &weight = saved[3];
  at::Tensor both;
  const bool found = lsq_quantized_and_slopes(x, {scale, saved[2], spec.scheme, spec.by}, spec.options, both);
  QUENCH_CHECK(found, "the input changed its layout between the forward and the backward pass");
  const std::int64_t channels = x.size(1);
  std::vector<std::int64_t> sizes = weight.sizes().vec();
  sizes[1] = both.size(1);
  const at::Tensor wide = at::empty(sizes, weight.options(), weight.suggest_memory_format());
  const at::Tensor gradient = weight_gradient(form, dy, both, wide);
  return {gradient.narrow(1, 0, channels).contiguous(weight.suggest_memory_format()),
          (gradient.narrow(1, channels, channels) * weight).sum().reshape(scale.sizes())};
}

bool takes_joint_gradients(const ConvForm& form, const Inputs& in) {
  const at::Tensor &x = in[kX].tensor(), &weight = in[kWeight].tensor(), &quantized = in[kQuantized].tensor();
  return x.is_cuda() && x.scalar_type() == at::kFloat && x.dim() == 4 && form.groups == 1 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && quantized.scalar_type() == at::kFloat &&
         weight.scalar_type() == at::kFloat && weight.requires_grad() && in[kScale].tensor().numel() == 1 &&
         !at::autocast::is_autocast_enabled(at::kCUDA);
}

// conv(q, W), with these gradients.
at::Tensor joint_conv(const ConvForm& form, const FakeQuantSpec& spec, const Inputs& in) {
  const at::Tensor &x = in[kX].tensor(), &scale = in[kScale].tensor(), &quantized = in[kQuantized].tensor();
  const at::Tensor used = used_scale(scale, spec.scheme), zero = in[kZeroPoint].tensor().detach();
  return apply_rule({in[kWeight].tensor(), scale},
                    {.forward = [&](const Tensors& of) { return convolve(form, quantized, of[0], std::nullopt); },
                     .backward = [form, spec](const at::Tensor& dy,
                                              const Tensors& saved) { return joint_gradients(form, spec, dy, saved); },
                     .save = [&](const Tensors& of, const at::Tensor&) -> Tensors { return {x, used, zero, of[0]}; }});
}

std::vector<RtValue> conv_of_input(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &quantized = in[kQuantized].tensor(), &weight = in[kWeight].tensor(), &x = in[kX].tensor();
  const ConvForm form = conv_form(node, quantized, weight);
  const std::optional<at::Tensor> bias = optional_tensor(in, 2);
  // Not quantizing, or somebody wants the gradient of the input too.
  if (quantized.is_same(x) || x.requires_grad() || !in[kScale].tensor().requires_grad() || !c10::GradMode::is_enabled())
    return {convolve(form, quantized, weight, bias)};
  if (!bias && takes_joint_gradients(form, in)) return {joint_conv(form, spec_in_front_of(node), in)};
  const at::Tensor y = convolve(form, quantized.detach(), weight, bias);
  return {with_scale_gradient(y, form, spec_in_front_of(node), in)};
}

void conv_of_input_shape(Node& node) { OpRegistry::instance().get("Conv").shapes(node); }

OpTraits conv_of_input_traits() {
  OpTraits traits;
  traits.weight_slot = kWeight;
  traits.bias_slot = 2;
  traits.weight_axis = [](const Node&) { return 0; };
  traits.macs = [](const Node& node) { return OpRegistry::instance().get("Conv").traits.macs(node); };
  traits.parameter_slots = {kWeight, 2};
  traits.state_from = kScale;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("quench.ConvOfInput", conv_of_input, conv_of_input_shape, conv_of_input_traits(),
                   "a Conv of a quantized model input, whose scale learns without the gradient of the input")

}  // namespace quench

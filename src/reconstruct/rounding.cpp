#include "reconstruct/rounding.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "fake_quant/adaround.h"
#include "quant/adaround.h"
#include "quant/scale_rule.h"

namespace quench {
namespace {

constexpr double kOpenAlpha = 1.6;  // h is 0.1 or 0.9

std::unique_ptr<FakeQuant> adaround(const FakeQuantSpec& like, const char* mode) {
  FakeQuantSpec spec = like;
  spec.algorithm = "adaround";
  spec.options = Options{{"mode", std::string(mode)}};
  return make_fake_quant(spec);
}

std::unique_ptr<FakeQuant> straight_through(const FakeQuantSpec& like) {
  FakeQuantSpec spec = like;
  spec.algorithm = "fixed";
  spec.options = {};
  return make_fake_quant(spec);
}

}  // namespace

at::Tensor penalty_gradient(const at::Tensor& alpha, const at::Tensor& weight, const at::Tensor& beta) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor sigma = alpha.sigmoid();
  const at::Tensor u = (sigma * (2 * kAdaStretch)).add_(2 * kAdaGamma - 1);  // 2 h - 1
  const at::Tensor size = u.abs();
  // d/dalpha of -|u|^beta, where h is not clamped (there its slope is 0).
  const at::Tensor slope = size.pow(beta - 1).copysign_(u).mul_(beta * weight * (-2 * kAdaStretch)).mul_(size < 1);
  return at::sigmoid_backward(slope, sigma);
}

Rounding::Rounding(const Node& quantizer, const std::string& device, const RoundingKind& kind)
    : Rounding(quantizer, quantizer, device, kind) {}

Rounding::Rounding(const Node& quantizer, const Node& before, const std::string& device, const RoundingKind& kind)
    : quantizer_(&quantizer), straight_through_(kind.straight_through) {
  const FakeQuantSpec spec = fake_quant_spec(before);
  soft_ = adaround(spec, "soft");
  hard_ = adaround(spec, "hard");
  straight_ = straight_through(spec);
  const at::Device where(device);
  weight_ = std::make_shared<const at::Tensor>(before.input(0)->tensor().detach().to(where, at::kFloat).contiguous());
  // The scales that the quantizer really uses, whatever it learns them as.
  const QParams params = qparams_of(before);
  const std::vector<std::int64_t> shape = spec.scheme.scale_shape(weight_->sizes().vec());
  tensors_.all = {at::tensor(params.scale).reshape(shape).to(where),
                  at::tensor(params.zero_point, at::kFloat).reshape(shape).to(where), at::Tensor()};
  tensors_.all[2] = straight_through_
                        ? at::zeros_like(*weight_)
                        : adaround_initial(*weight_, {tensors_.scale(), tensors_.zero_point(), spec.scheme, spec.by});
  tensors_.all[2].requires_grad_();
  const at::Tensor scale = at::tensor(qparams_of(quantizer).scale).reshape(shape).to(where);
  gain_ =
      std::make_shared<const at::Tensor>(kind.learn_scale ? (scale / tensors_.scale()).requires_grad_() : at::Tensor());
  if (&quantizer != &before) begin_at(quantizer.input(0)->tensor().detach().to(where, at::kFloat));
}

// Nearly where hard rounding gives this: a rounding that is decided has no gradient.
void Rounding::begin_at(const at::Tensor& weight) {
  const c10::AutoGradMode no_grad(false);
  at::Tensor alpha = tensors_.all[2].detach();
  if (straight_through_) {
    const at::Tensor on_first_grid = gain().defined() ? weight / per_element(gain().detach()) : weight;
    alpha.copy_((on_first_grid - *weight_) / per_element(tensors_.scale()));
    return;
  }
  const at::Tensor down = (alpha.fill_(-kOpenAlpha), hard()), up = (alpha.fill_(kOpenAlpha), hard());
  alpha.mul_(at::where((weight - up).abs() < (weight - down).abs(), 1.0, -1.0));
}

const at::Tensor& Rounding::gain() const { return *gain_; }

at::Tensor Rounding::scale() const {
  const at::Tensor& before = quantizer_->input(1)->tensor();
  if (!gain().defined()) return before;
  return (tensors_.scale() * gain().detach()).clamp_min_(kScaleFloor).reshape(before.sizes());
}

// Of a scheme's shape of scales, to one that multiplies the weight.
at::Tensor Rounding::per_element(const at::Tensor& scales) const {
  const QScheme scheme = soft_->scheme();
  if (scheme.granularity() == Granularity::kTensor) return scales;
  const int axis = scheme.axis_of(static_cast<int>(weight_->dim()));
  if (scheme.granularity() == Granularity::kGroup) return scales.repeat_interleave(scheme.group(), axis);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(weight_->dim()), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  return scales.reshape(shape);
}

at::Tensor Rounding::stretched(const at::Tensor& weight, const at::Tensor& gain) const {
  return gain.defined() ? weight * per_element(gain) : weight;
}

at::Tensor Rounding::soft_codes() const {
  if (!straight_through_) return soft_->quantize(*weight_, tensors_, {});
  FakeQuantTensors grid;
  grid.all = {tensors_.scale(), tensors_.zero_point()};
  return straight_->quantize(*weight_ + alpha() * per_element(tensors_.scale()), grid, {});
}

at::Tensor Rounding::hard_codes() const {
  const c10::AutoGradMode no_grad(false);
  return straight_through_ ? soft_codes() : hard_->quantize(*weight_, tensors_, {});
}

at::Tensor Rounding::soft() const { return stretched(soft_codes(), gain()); }

at::Tensor Rounding::hard() const { return stretched(hard_codes(), gain().defined() ? gain().detach() : at::Tensor()); }

void Rounding::move_alpha(const at::Tensor& to) {
  const c10::AutoGradMode no_grad(false);
  tensors_.all[2] = to.view(alpha().sizes()).copy_(alpha()).detach().requires_grad_();
}

}  // namespace quench

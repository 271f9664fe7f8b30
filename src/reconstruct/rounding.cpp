#include "reconstruct/rounding.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "fake_quant/adaround.h"
#include "quant/adaround.h"
#include "quant/scale_rule.h"

namespace quench {
namespace {

constexpr double kDecided = 0.05;   // h this close to 0 or 1 counts as such
constexpr double kOpenAlpha = 1.6;  // h is 0.1 or 0.9

std::unique_ptr<FakeQuant> adaround(const FakeQuantSpec& like, const char* mode) {
  FakeQuantSpec spec = like;
  spec.algorithm = "adaround";
  spec.options = Options{{"mode", std::string(mode)}};
  return make_fake_quant(spec);
}

at::Tensor open_h(const at::Tensor& sigma) { return sigma * kAdaStretch + kAdaGamma; }

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

Rounding::Rounding(const Node& quantizer, const std::string& device, bool learn_scale)
    : Rounding(quantizer, quantizer, device, learn_scale) {}

Rounding::Rounding(const Node& quantizer, const Node& before, const std::string& device, bool learn_scale)
    : quantizer_(&quantizer) {
  const FakeQuantSpec spec = fake_quant_spec(before);
  soft_ = adaround(spec, "soft");
  hard_ = adaround(spec, "hard");
  nearest_ = adaround(spec, "nearest");
  const at::Device where(device);
  weight_ = std::make_shared<const at::Tensor>(before.input(0)->tensor().detach().to(where, at::kFloat).contiguous());
  // The scales that the quantizer really uses, whatever it learns them as.
  const QParams params = qparams_of(before);
  const std::vector<std::int64_t> shape = spec.scheme.scale_shape(weight_->sizes().vec());
  tensors_.all = {at::tensor(params.scale).reshape(shape).to(where),
                  at::tensor(params.zero_point, at::kFloat).reshape(shape).to(where), at::Tensor()};
  tensors_.all[2] =
      adaround_initial(*weight_, {tensors_.scale(), tensors_.zero_point(), spec.scheme, spec.by}).requires_grad_();
  const at::Tensor scale = at::tensor(qparams_of(quantizer).scale).reshape(shape).to(where);
  gain_ = std::make_shared<const at::Tensor>(learn_scale ? (scale / tensors_.scale()).requires_grad_() : at::Tensor());
  if (&quantizer != &before) begin_at(quantizer.input(0)->tensor().detach().to(where, at::kFloat));
}

// Nearly where hard rounding gives this: a rounding that is decided has no gradient.
void Rounding::begin_at(const at::Tensor& weight) {
  const c10::AutoGradMode no_grad(false);
  at::Tensor alpha = tensors_.all[2].detach();
  const at::Tensor down = (alpha.fill_(-kOpenAlpha), hard()), up = (alpha.fill_(kOpenAlpha), hard());
  alpha.mul_(at::where((weight - up).abs() < (weight - down).abs(), 1.0, -1.0));
}

const at::Tensor& Rounding::gain() const { return *gain_; }

at::Tensor Rounding::scale() const {
  const at::Tensor& before = quantizer_->input(1)->tensor();
  if (!gain().defined()) return before;
  return (tensors_.scale() * gain().detach()).clamp_min_(kScaleFloor).reshape(before.sizes());
}

at::Tensor Rounding::soft() const { return stretched(soft_->quantize(*weight_, tensors_, {}), gain()); }

// The gain has the shape of the scales.
at::Tensor Rounding::stretched(const at::Tensor& weight, const at::Tensor& gain) const {
  if (!gain.defined()) return weight;
  const QScheme scheme = soft_->scheme();
  if (scheme.granularity() == Granularity::kTensor) return weight * gain;
  const int axis = scheme.axis_of(static_cast<int>(weight.dim()));
  if (scheme.granularity() == Granularity::kGroup) return weight * gain.repeat_interleave(scheme.group(), axis);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(weight.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  return weight * gain.reshape(shape);
}

at::Tensor Rounding::rounded(const FakeQuant& how) const {
  const c10::AutoGradMode no_grad(false);
  return how.quantize(*weight_, tensors_, {});
}

at::Tensor Rounding::hard() const {
  return stretched(rounded(*hard_), gain().defined() ? gain().detach() : at::Tensor());
}

void Rounding::move_alpha(const at::Tensor& to) {
  const c10::AutoGradMode no_grad(false);
  tensors_.all[2] = to.view(alpha().sizes()).copy_(alpha()).detach().requires_grad_();
}

double Rounding::undecided() const {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor h = open_h(alpha().detach().sigmoid());
  return (h > kDecided).logical_and_(h < 1 - kDecided).to(at::kFloat).mean().item<double>();
}

double Rounding::moved() const {
  const at::Tensor step = tensors_.scale().min();  // two codes of one channel are at least this far apart
  return ((rounded(*hard_) - rounded(*nearest_)).abs() > step * 0.5).to(at::kFloat).mean().item<double>();
}

}  // namespace quench

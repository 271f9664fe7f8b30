#include "reconstruct/rounding.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "fake_quant/adaround.h"
#include "quant/adaround.h"

namespace quench {
namespace {

constexpr double kDecided = 0.05;  // h this close to 0 or 1 counts as such

std::unique_ptr<FakeQuant> adaround(const FakeQuantSpec& like, const char* mode) {
  FakeQuantSpec spec = like;
  spec.algorithm = "adaround";
  spec.options = Options{{"mode", std::string(mode)}};
  return make_fake_quant(spec);
}

at::Tensor open_h(const at::Tensor& sigma) { return sigma * kAdaStretch + kAdaGamma; }

}  // namespace

Rounding::Rounding(const Node& quantizer, const std::string& device) : quantizer_(&quantizer) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  soft_ = adaround(spec, "soft");
  hard_ = adaround(spec, "hard");
  nearest_ = adaround(spec, "nearest");
  const at::Device where(device);
  weight_ =
      std::make_shared<const at::Tensor>(quantizer.input(0)->tensor().detach().to(where, at::kFloat).contiguous());
  // The scales that the quantizer really uses, whatever it learns them as.
  const QParams params = qparams_of(quantizer);
  const std::vector<std::int64_t> shape = spec.scheme.scale_shape(weight_->sizes().vec());
  tensors_.all = {at::tensor(params.scale).reshape(shape).to(where),
                  at::tensor(params.zero_point, at::kFloat).reshape(shape).to(where), at::Tensor()};
  tensors_.all[2] =
      adaround_initial(*weight_, {tensors_.scale(), tensors_.zero_point(), spec.scheme, spec.by}).requires_grad_();
}

at::Tensor Rounding::soft() const { return soft_->quantize(*weight_, tensors_, {}); }

at::Tensor Rounding::rounded(const FakeQuant& how) const {
  const c10::AutoGradMode no_grad(false);
  return how.quantize(*weight_, tensors_, {});
}

at::Tensor Rounding::hard() const { return rounded(*hard_); }

void Rounding::add_penalty_gradient(const at::Tensor& weight, const at::Tensor& beta) const {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor sigma = alpha().detach().sigmoid(), open = open_h(sigma);
  const at::Tensor u = (open * 2).sub_(1);
  // d/dalpha of -|u|^beta, where h is not clamped (there its slope is 0).
  at::Tensor slope = u.abs().pow_(beta - 1).mul_(u.sign()).mul_(beta * weight * (-2 * kAdaStretch));
  slope.mul_(sigma).mul_(sigma.neg().add_(1)).masked_fill_((open <= 0).logical_or_(open >= 1), 0);
  at::Tensor& gradient = alpha().mutable_grad();
  gradient = gradient.defined() ? gradient.add_(slope) : slope;
}

double Rounding::undecided() const {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor h = open_h(alpha().detach().sigmoid());
  return (h > kDecided).logical_and_(h < 1 - kDecided).to(at::kFloat).mean().item<double>();
}

double Rounding::moved() const {
  const at::Tensor step = tensors_.scale().min();  // two codes of one channel are at least this far apart
  return ((hard() - rounded(*nearest_)).abs() > step * 0.5).to(at::kFloat).mean().item<double>();
}

}  // namespace quench

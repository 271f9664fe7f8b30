#include "reconstruct/adam.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

namespace quench {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

}  // namespace

Adam::Adam(Tensors parameters) : parameters_(std::move(parameters)) {
  for (const at::Tensor& one : parameters_) {
    first_.push_back(at::zeros_like(one.detach()));
    second_.push_back(at::zeros_like(one.detach()));
  }
  if (!parameters_.empty()) steps_ = {at::zeros({}, parameters_[0].options().dtype(at::kFloat).requires_grad(false))};
}

void Adam::step(const at::Tensor& rate) {
  const c10::AutoGradMode no_grad(false);
  Tensors parameters, gradients, first, second, steps;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& gradient = parameters_[i].mutable_grad();
    if (!gradient.defined()) continue;
    parameters.push_back(parameters_[i]);
    gradients.push_back(gradient.contiguous());
    first.push_back(first_[i]);
    second.push_back(second_[i]);
    steps.push_back(steps_[0]);
    gradient.reset();
  }
  if (parameters.empty()) return;
  steps_[0].add_(1);
  at::_fused_adam_(parameters, gradients, first, second, {}, steps, rate, kBeta1, kBeta2, 0.0, kEpsilon, false, false);
}

}  // namespace quench

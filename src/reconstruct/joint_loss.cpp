#include "reconstruct/joint_loss.h"

#include <ATen/ATen.h>

#include "reconstruct/unit_loss.h"

namespace quench {
namespace {

constexpr double kLeastEnergy = 1e-12;

}  // namespace

JointLoss::JointLoss(UnitWork& network, double divergence, const Augment& augment)
    : network_(network), divergence_(divergence), augment_(augment) {}

void JointLoss::backward(const at::Tensor& rows, std::uint64_t step, const at::Tensor& counter) {
  const NamedValues inputs = augment_.varied(network_.float_inputs(rows), counter);
  const NamedValues wanted = network_.run_float(inputs, network_.ends());
  const NamedValues given = network_.run(inputs, step, network_.ends());
  at::Tensor sum = at::zeros({}, at::dtype(at::kFloat).device(rows.device()));
  for (const auto& [name, value] : given)
    if (const at::Tensor& y = value.tensor(); y.requires_grad())
      sum = sum + (y * gradient(name, y, wanted.at(name).tensor())).sum();
  if (sum.requires_grad()) sum.backward();
}

// The squared error relative to the float output's energy; of logits besides the divergence of the prediction.
at::Tensor JointLoss::gradient(const std::string& name, const at::Tensor& y, const at::Tensor& wanted) const {
  const at::Tensor energy = wanted.square().sum().clamp_min_(kLeastEnergy);
  at::Tensor gradient = (y.detach() - wanted).mul_(2 / energy);
  if (name == network_.unit().output() && y.dim() == 2 && divergence_ > 0)
    gradient.add_(divergence_gradient(y, wanted), divergence_);
  return gradient;
}

}  // namespace quench

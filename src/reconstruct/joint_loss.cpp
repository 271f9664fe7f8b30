#include "reconstruct/joint_loss.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "reconstruct/unit_loss.h"

namespace quench {
namespace {

constexpr double kLeastEnergy = 1e-12;

at::Tensor energy_of(const at::Tensor& wanted) { return wanted.square().sum().clamp_min_(kLeastEnergy); }

}  // namespace

JointLoss::JointLoss(UnitWork& network, double divergence, const Augment& augment)
    : network_(network), divergence_(divergence), augment_(augment) {}

void JointLoss::backward(const at::Tensor& rows, std::uint64_t step, const at::Tensor& counter, double share) {
  const NamedValues inputs = augment_.varied(network_.float_inputs(rows), counter);
  const NamedValues wanted = network_.run_float(inputs, network_.ends());
  const NamedValues given = network_.run(inputs, step, network_.ends());
  at::Tensor sum = at::zeros({}, at::dtype(at::kFloat).device(rows.device()));
  for (const auto& [name, value] : given)
    if (const at::Tensor& y = value.tensor(); y.requires_grad())
      sum = sum + (y * gradient(name, y, wanted.at(name).tensor())).sum();
  if (sum.requires_grad()) (sum * share).backward();
}

double JointLoss::over_all() const {
  double sum = 0;
  const std::int64_t items = network_.items(), batch = network_.batch();
  for (std::int64_t first = 0; first < items; first += batch) {
    const std::int64_t count = std::min(batch, items - first);
    const at::Tensor rows = at::arange(first, first + count, at::kLong).to(at::Device(network_.device()));
    const NamedValues inputs = network_.float_inputs(rows);
    const NamedValues wanted = network_.run_float(inputs, network_.ends());
    for (const auto& [name, value] : network_.run(inputs, 0, network_.ends())) {
      const at::Tensor y = value.tensor().detach(), target = wanted.at(name).tensor();
      at::Tensor loss = (y - target).square_().sum() / energy_of(target);
      if (has_divergence(name, y)) loss = loss + divergence(y, target) * divergence_;
      sum += loss.item<double>() * static_cast<double>(count);
    }
  }
  return sum / static_cast<double>(items);
}

bool JointLoss::has_divergence(const std::string& name, const at::Tensor& y) const {
  return name == network_.unit().output() && y.dim() == 2 && divergence_ > 0;
}

// The squared error relative to the float output's energy; of logits besides the divergence of the prediction.
at::Tensor JointLoss::gradient(const std::string& name, const at::Tensor& y, const at::Tensor& wanted) const {
  at::Tensor gradient = (y.detach() - wanted).mul_(2 / energy_of(wanted));
  if (has_divergence(name, y)) gradient.add_(divergence_gradient(y, wanted), divergence_);
  return gradient;
}

}  // namespace quench

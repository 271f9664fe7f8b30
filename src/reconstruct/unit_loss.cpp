#include "reconstruct/unit_loss.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// Channels are the last axis of sequences, the second of all else.
double channels_of(const UnitWork& work, const at::Tensor& y) {
  if (y.dim() < 2) return 1;
  const Node* layer = work.weights().empty() ? nullptr : work.weights().back()->output().uses().front().node;
  const bool is_sequence = y.dim() == 3 && layer && entry_of(*layer).traits.channel_axis != 1;
  const bool is_product = y.dim() == 3 && layer && (layer->op() == "MatMul" || layer->op() == "Gemm");
  return static_cast<double>(y.size(is_sequence || is_product ? 2 : 1));
}

// What the squared error is divided by, so that the regulariser weighs the same in every unit: the mean energy of an
// element of the float output.
double energy_of(const UnitWork& work) {
  const at::Tensor rows = at::arange(std::min<std::int64_t>(work.items(), 256), at::kLong);
  const double energy = work.target(rows.to(at::Device(work.device()))).square().mean().item<double>();
  return energy > 0 ? energy : 1.0;
}

}  // namespace

at::Tensor divergence(const at::Tensor& y, const at::Tensor& wanted) {
  const at::Tensor logs = wanted.log_softmax(1);
  return (logs.exp() * (logs - y.log_softmax(1))).sum().div_(static_cast<double>(y.size(0)));
}

at::Tensor divergence_gradient(const at::Tensor& y, const at::Tensor& wanted) {
  return (y.detach().softmax(1) - wanted.softmax(1)).div_(static_cast<double>(y.size(0)));
}

UnitLoss::UnitLoss(const RoundingSettings& settings, UnitWork& work, const at::Tensor& rows)
    : settings_(settings), work_(work) {
  const double channels = channels_of(work, work.target(rows));
  factor_ = settings.relative ? 1.0 / energy_of(work) : channels;
  if (settings.fisher) work.sensitivity(rows);
  if (settings.prediction > 0)
    QUENCH_CHECK(work.prediction(rows).dim() == 2, "the option 'prediction' needs logits: a network with one output ",
                 "of the shape [items, classes]");
}

double UnitLoss::value(const at::Tensor& y, const at::Tensor& rows) {
  const at::Tensor wanted = work_.target(rows);
  at::Tensor squares = (y.detach() - wanted).square_();
  if (settings_.fisher) squares.mul_(work_.sensitivity(rows));
  const double loss = squares.mean().item<double>() * factor_;
  if (settings_.prediction == 0) return loss;
  const at::Tensor logits = work_.predict(y.detach(), rows).detach();
  return loss + settings_.prediction * divergence(logits, work_.prediction(rows)).item<double>();
}

void UnitLoss::backward(const at::Tensor& y, const at::Tensor& rows, double share) {
  const at::Tensor wanted = work_.target(rows);
  // The gradient of the loss, without recording it.
  at::Tensor gradient = (y.detach() - wanted).mul_(2 * factor_ / static_cast<double>(wanted.numel()));
  if (settings_.fisher) gradient.mul_(work_.sensitivity(rows));
  if (settings_.prediction > 0) add_prediction(gradient, y, rows);
  y.backward(share == 1 ? gradient : gradient.mul_(share));
}

void UnitLoss::add_prediction(at::Tensor& gradient, const at::Tensor& y, const at::Tensor& rows) {
  const at::Tensor at = y.detach().requires_grad_();
  const at::Tensor logits = work_.predict(at, rows);
  if (!logits.requires_grad()) return;  // nothing depends on the unit
  logits.backward(divergence_gradient(logits, work_.prediction(rows)));
  gradient.add_(at.grad(), settings_.prediction);
}

}  // namespace quench

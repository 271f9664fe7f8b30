// What the output of a unit is held against while it learns (docs/numerics.md 15.2).
#pragma once

#include "quench/ptq_method.h"
#include "reconstruct/knobs.h"

namespace quench {

class UnitLoss {
 public:
  // Both must outlive it. Computes what a captured step could not.
  UnitLoss(const RoundingSettings& settings, UnitWork& work, const at::Tensor& rows);
  double value(const at::Tensor& y, const at::Tensor& rows);  // of the loss, up to a factor
  // Sends the gradient of this share of the loss back through the unit that gave `y` for these items.
  void backward(const at::Tensor& y, const at::Tensor& rows, double share);

 private:
  void add_prediction(at::Tensor& gradient, const at::Tensor& y, const at::Tensor& rows);

  const RoundingSettings& settings_;
  UnitWork& work_;
  double factor_;  // of the squared error
};

// Of logits: the mean KL divergence from the prediction of `wanted` to that of `y`, and its gradient with respect to y.
at::Tensor divergence(const at::Tensor& y, const at::Tensor& wanted);
at::Tensor divergence_gradient(const at::Tensor& y, const at::Tensor& wanted);

}  // namespace quench

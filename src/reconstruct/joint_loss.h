// What the whole network is held against while all of its units learn together (docs/numerics.md 15.5): the outputs of
// its units and its prediction in float, on the calibration items or on variations of them.
#pragma once

#include "quench/ptq_method.h"
#include "reconstruct/augment.h"

namespace quench {

class JointLoss {
 public:
  // `network` must outlive it, and joins all units.
  JointLoss(UnitWork& network, double divergence, const Augment& augment);
  // Runs the network on these items and sends the gradient of this share of the loss back through it. `step` and
  // `counter`, which lies on the device, are for random choices: of quantizers, and of how images vary.
  void backward(const at::Tensor& rows, std::uint64_t step, const at::Tensor& counter, double share);
  // The loss over all items, not varied, of the network as it now is.
  double over_all() const;

 private:
  bool has_divergence(const std::string& name, const at::Tensor& y) const;
  at::Tensor gradient(const std::string& name, const at::Tensor& y, const at::Tensor& wanted) const;

  UnitWork& network_;
  const double divergence_;  // weight of the prediction's
  const Augment augment_;
};

}  // namespace quench

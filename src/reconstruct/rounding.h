// The rounding of one weight while it learns (AdaRound, docs/numerics.md 5.10): alpha, what the weight is with it, the
// gradient of the regulariser, and the result.
#pragma once

#include <memory>

#include "quench/quantizers.h"

namespace quench {

class Rounding {
 public:
  // `quantizer` must have scales; alpha begins where soft rounding gives the weight itself.
  Rounding(const Node& quantizer, const std::string& device);

  const Node& quantizer() const { return *quantizer_; }
  const at::Tensor& alpha() const { return tensors_.own(0); }  // requires a gradient
  at::Tensor soft() const;                                     // recorded for autograd
  at::Tensor hard() const;                                     // rounded as alpha says, on the grid
  // Adds the gradient of weight * sum(1 - |2 h(alpha) - 1|^beta) to alpha's.
  void add_penalty_gradient(const at::Tensor& weight, const at::Tensor& beta) const;  // 0-d
  double undecided() const;  // share of the elements that are neither down nor up yet
  double moved() const;      // share whose code is not the nearest one

 private:
  at::Tensor rounded(const FakeQuant& how) const;

  const Node* quantizer_;
  std::shared_ptr<const at::Tensor> weight_;
  FakeQuantTensors tensors_;  // scale, zero point, alpha
  std::unique_ptr<FakeQuant> soft_, hard_, nearest_;
};

}  // namespace quench

// The rounding of one weight while it learns (AdaRound, docs/numerics.md 5.10): alpha, what the weight is with it, the
// gradient of the regulariser, and the result.
#pragma once

#include <memory>

#include "quench/quantizers.h"

namespace quench {

// Of weight * sum(1 - |2 h(alpha) - 1|^beta) with respect to alpha; weight and beta are 0-d.
at::Tensor penalty_gradient(const at::Tensor& alpha, const at::Tensor& weight, const at::Tensor& beta);

struct RoundingKind {
  // In place of going down or up: alpha is added to the weight, in steps of its grid, which is rounded to the nearest
  // code in every step, the gradient passed through; it reaches any code (blocks trained like that: Chen et al.,
  // "EfficientQAT", 2024, section 3.2).
  bool straight_through = false;
  // The scale learns, too, while the codes that are rounded from stay (Genie-M, Jeon et al. 2023, section 4.2).
  bool learn_scale = false;
};

class Rounding {
 public:
  // `quantizer` must have scales; alpha begins where soft rounding gives the weight itself.
  Rounding(const Node& quantizer, const std::string& device, const RoundingKind& kind = {});
  // One that has learned already goes on: `before` is the quantizer as it was at first, with its weight.
  Rounding(const Node& quantizer, const Node& before, const std::string& device, const RoundingKind& kind);

  const Node& quantizer() const { return *quantizer_; }
  const at::Tensor& alpha() const { return tensors_.own(0); }  // requires a gradient
  const at::Tensor& gain() const;         // what the scale is multiplied by; requires a gradient. Undefined if it stays
  at::Tensor scale() const;               // what it became, in the shape of the quantizer's
  at::Tensor soft() const;                // recorded for autograd
  at::Tensor hard() const;                // rounded as alpha says, on the grid
  void move_alpha(const at::Tensor& to);  // where it lies from now on: as many elements in a row

 private:
  void begin_at(const at::Tensor& weight);
  at::Tensor soft_codes() const;  // on the grid before it was stretched
  at::Tensor hard_codes() const;
  at::Tensor per_element(const at::Tensor& scales) const;  // shaped so that it can be multiplied with the weight
  at::Tensor stretched(const at::Tensor& weight, const at::Tensor& gain) const;

  const Node* quantizer_;
  bool straight_through_;
  std::shared_ptr<const at::Tensor> weight_, gain_;
  FakeQuantTensors tensors_;  // scale, zero point, alpha
  std::unique_ptr<FakeQuant> soft_, hard_, straight_;
};

}  // namespace quench

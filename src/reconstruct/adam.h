// Adam (Kingma and Ba, 2015) on a list of tensors, by LibTorch's fused kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/gradient.h"

namespace quench {

class Adam {
 public:
  explicit Adam(Tensors parameters);  // that require a gradient
  // One step along the gradients that arrived, and forgets them. A parameter without one stays.
  void step(const at::Tensor& rate);  // 0-d, where the parameters lie
  const Tensors& parameters() const { return parameters_; }

 private:
  Tensors parameters_, first_, second_;
  Tensors steps_;  // one counter for all
};

}  // namespace quench

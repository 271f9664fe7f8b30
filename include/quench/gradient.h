// A function with a gradient of our own. The one file behind it includes LibTorch's autograd header, which
// costs seconds to compile; the fake quantizers need not.
#pragma once

#include <functional>
#include <vector>

namespace at {
class Tensor;
}

namespace quench {

using Tensors = std::vector<at::Tensor>;

// forward: computes y (without recording). backward: from dy and the saved tensors, one gradient per input, in
// order; undefined where there is none.
struct GradientRule {
  std::function<at::Tensor(const Tensors& inputs)> forward;
  std::function<Tensors(const at::Tensor& dy, const Tensors& saved)> backward;
  // What backward gets as `saved`: chosen from the inputs, or made in forward.
  std::function<Tensors(const Tensors& inputs, const at::Tensor& y)> save;
};

at::Tensor apply_rule(const Tensors& inputs, GradientRule rule);

// The same with several results, some of which may be undefined. Their gradients are undefined where nobody asked for
// one.
struct GradientRules {
  std::function<Tensors(const Tensors& inputs)> forward;
  std::function<Tensors(const Tensors& gradients, const Tensors& saved)> backward;
  std::function<Tensors(const Tensors& inputs, const Tensors& results)> save;
};

Tensors apply_rules(const Tensors& inputs, GradientRules rules);

}  // namespace quench

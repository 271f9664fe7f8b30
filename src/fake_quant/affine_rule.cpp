#include "fake_quant/affine_rule.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "quench/gradient.h"

namespace quench {

at::Tensor affine_with_mask(const at::Tensor& x, const AffineArgs& args) {
  if (!c10::GradMode::is_enabled() || !x.requires_grad()) return fake_quantize(x, args);
  at::Tensor mask;
  return apply_rule({x}, {.forward =
                              [&](const Tensors& in) {
                                at::Tensor y;
                                fake_quantize_masked(in[0], args, y, mask);
                                return y;
                              },
                          .backward = [](const at::Tensor& dy, const Tensors& saved) -> Tensors {
                            return {masked_gradient(dy, saved[0])};
                          },
                          .save = [&](const Tensors&, const at::Tensor&) -> Tensors { return {mask}; }});
}

}  // namespace quench

// dorefa: a weight is squeezed by tanh and scaled to [-1, 1] before it is quantized (Zhou et al., "DoReFa-Net",
// 2016; docs/numerics.md 5.6). Autograd flows through tanh and through the maximum.
#include <ATen/ATen.h>

#include "fake_quant/affine_rule.h"
#include "quench/fake_quant.h"

namespace quench {
namespace {

class Dorefa : public FakeQuant {
 public:
  explicit Dorefa(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun&) const override {
    return affine_with_mask(transform(x), {tensors.scale(), tensors.zero_point(), scheme(), spec().by});
  }

  at::Tensor transform(const at::Tensor& x) const override {
    const at::Tensor squeezed = at::tanh(x);
    return squeezed / (squeezed.abs().max() + 1e-5);
  }
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "dorefa", "weights squeezed by tanh, then quantized (DoReFa)",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        return std::make_unique<Dorefa>(spec);
                      },
                      .for_activations = false})

}  // namespace
}  // namespace quench

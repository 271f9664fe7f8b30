// fixed: scale and zero point from the observer; nothing learns (numerics 5.2). Integers and fp8.
#include <ATen/ATen.h>

#include "fake_quant/affine_rule.h"
#include "fake_quant/gradient.h"
#include "quench/fake_quant.h"

namespace quench {
namespace {

class Fixed : public FakeQuant {
 public:
  explicit Fixed(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const RandomKey&) const override {
    return affine_with_mask(x, {tensors.scale(), tensors.zero_point(), scheme(), spec().by});
  }
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "fixed", "scale and zero point from the observer; nothing learns",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                       return std::make_unique<Fixed>(spec);
                     }})

}  // namespace
}  // namespace quench

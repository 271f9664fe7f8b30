// fixed: scale and zero point from the observer; nothing learns (docs/numerics.md 5.2). Integers and fp8.
#include <ATen/ATen.h>

#include "fake_quant/affine_rule.h"
#include "kernels/layout.h"
#include "quench/fake_quant.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

// Through LibTorch's own fp8 types, which round to nearest even; the clamp before makes them saturate as ONNX does.
at::Tensor through_float8(const at::Tensor& steps, const QScheme& scheme) {
  const at::ScalarType type = scheme.format() == Format::kE4M3Fn ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
  return steps.clamp(-scheme.largest(), scheme.largest()).to(type).to(at::kFloat);
}

at::Tensor float8_with_mask(const at::Tensor& x, const AffineArgs& args) {
  const at::Tensor scale = spread_scales(args.scale.detach(), x, args.scheme);
  at::Tensor mask;
  return apply_rule({x}, {.forward =
                              [&](const Tensors& in) {
                                const at::Tensor steps =
                                    args.by == QuantizeBy::kDivision ? in[0] / scale : in[0] * scale.reciprocal();
                                mask = steps.abs() <= args.scheme.largest();
                                return through_float8(steps, args.scheme) * scale;
                              },
                          .backward = [](const at::Tensor& dy, const Tensors& saved) -> Tensors {
                            return {masked_gradient(dy, saved[0])};
                          },
                          .save = [&](const Tensors&, const at::Tensor&) -> Tensors { return {mask}; }});
}

class Fixed : public FakeQuant {
 public:
  explicit Fixed(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  bool takes_bfloat16() const override { return scheme().is_int(); }
  bool takes_relu() const override { return scheme().is_int(); }
  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun& run) const override {
    const AffineArgs args{tensors.scale(), tensors.zero_point(), scheme(), spec().by, 1.0, run.after_relu};
    return scheme().is_int() ? affine_with_mask(x, args) : float8_with_mask(x, args);
  }
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "fixed", "scale and zero point from the observer; nothing learns",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        return std::make_unique<Fixed>(spec);
                      },
                      .formats = {Format::kInt, Format::kE4M3Fn, Format::kE5M2}})
QUENCH_REGISTER_ITEM(VendorNode, "fixed", "a plain grid", {{"FixedPerTensorAffine"}, {"FixedPerChannelAffine"}})

}  // namespace
}  // namespace quench

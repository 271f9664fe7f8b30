// dsq: a soft staircase whose slope is the gradient (Gong et al., "Differentiable soft quantization", 2019;
// docs/numerics.md 5.8).
#include <ATen/ATen.h>

#include "kernels/affine/learned.h"
#include "quench/error.h"
#include "quench/fake_quant.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

class Dsq : public FakeQuant {
 public:
  explicit Dsq(const FakeQuantSpec& spec) : FakeQuant(spec), alpha_(spec.options.number("alpha")) {}

  bool takes_bfloat16() const override { return true; }
  bool takes_relu() const override { return true; }
  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun& run) const override {
    const at::Tensor scale = tensors.scale().detach().clone(), zero = tensors.zero_point().detach().clone();
    return apply_rule({x},
                      {.forward =
                           [&, this](const Tensors& in) {
                             return dsq_forward(in[0], {scale, zero, scheme(), spec().by, 1.0, run.after_relu});
                           },
                       .backward = [scheme = scheme(), by = spec().by, alpha = alpha_, relu = run.after_relu](
                                       const at::Tensor& dy, const Tensors& saved) -> Tensors {
                         return {dsq_backward(dy, saved[0], {saved[1], saved[2], scheme, by, 1.0, relu}, alpha)};
                       },
                       .save = [&](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0], scale, zero}; }});
  }

 private:
  double alpha_;
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "dsq", "a soft staircase whose slope is the gradient (DSQ)",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        const double alpha = spec.options.number("alpha");
                        QUENCH_CHECK(alpha > 0 && alpha < 1, "alpha of DSQ must lie between 0 and 1, not ", alpha);
                        return std::make_unique<Dsq>(spec);
                      },
                      .options = {{"alpha", 0.4, "how far the soft staircase is from the hard one"}}})
QUENCH_REGISTER_ITEM(VendorNode, "dsq", "a soft staircase",
                     {{"FakeQuantizeDSQPertensor", VendorLayout::kCodesAsAttributes, {"alpha"}},
                      {"FakeQuantizeDSQPerchannel", VendorLayout::kCodesAsAttributes, {"alpha"}}})

}  // namespace
}  // namespace quench

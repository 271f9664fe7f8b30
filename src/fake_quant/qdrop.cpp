// qdrop: while reconstructing, each element of an activation is quantized with probability `prob`, else left as
// it is (Wei et al., "QDrop", 2022; docs/numerics.md 5.11). The scale learns, as LSQ's without the gradient factor.
#include <ATen/ATen.h>

#include "fake_quant/learned_scale.h"
#include "kernels/affine/learned.h"
#include "quench/error.h"
#include "quench/fake_quant.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

class Qdrop : public FakeQuant {
 public:
  explicit Qdrop(const FakeQuantSpec& spec) : FakeQuant(spec), prob_(spec.options.number("prob")) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun& run) const override {
    const at::Tensor scale = used_scale(tensors.scale(), scheme()), zero = tensors.zero_point().detach().clone();
    const double prob = run.reconstructing ? prob_ : 1.0;
    return apply_rule({x, tensors.scale()},
                      {.forward =
                           [&, this](const Tensors& in) {
                             return qdrop_forward(in[0], {scale, zero, scheme(), spec().by}, prob, run.key);
                           },
                       .backward = [scheme = scheme(), by = spec().by, prob, key = run.key](
                                       const at::Tensor& dy, const Tensors& saved) -> Tensors {
                         at::Tensor dx, ds;
                         qdrop_backward(dy, saved[0], {saved[1], saved[2], scheme, by}, prob, key, dx, ds);
                         return {dx, ds};
                       },
                       .save = [&](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0], scale, zero}; }});
  }

 private:
  double prob_;
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "qdrop", "quantizes at random while reconstructing; the scale learns (QDrop)",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        const double prob = spec.options.number("prob");
                        QUENCH_CHECK(prob >= 0 && prob <= 1, "prob of QDrop must lie between 0 and 1, not ", prob);
                        return std::make_unique<Qdrop>(spec);
                      },
                      .options = {{"prob", 1.0, "probability that an element is quantized; 1: no drop"}},
                      .learns_scale = true,
                      .for_weights = false})
QUENCH_REGISTER_ITEM(VendorNode, "qdrop", "a scale that learns",
                     {{"LearnablePerTensorAffine"},
                      {"FakeQuantizeLearnablePerchannelAffine", VendorLayout::kCodesAsAttributes}})

}  // namespace
}  // namespace quench

// lsq: the scale learns (Esser et al., "Learned step size quantization", 2020; numerics 5.3).
// lsq_plus: the zero point learns too (Bhalgat et al., "LSQ+", 2020; numerics 5.4). The paper's float offset
// could not be deployed; the zero point can.
#include <ATen/ATen.h>

#include <cmath>

#include "fake_quant/gradient.h"
#include "fake_quant/in_place.h"
#include "kernels/affine.h"
#include "quant/scale_rule.h"
#include "quench/fake_quant.h"

namespace quench {
namespace {

// Equation 6 of the paper's section 2.2: 1/sqrt(N p), N the elements that share a scale. A signed range of one
// bit has p = 0; its one step is counted instead.
double gradient_factor(const QScheme& scheme, std::int64_t elements, std::int64_t scales, const Options& options) {
  if (!options.flag("grad_scaling")) return 1.0;
  const std::int64_t sharing = options.flag("whole_tensor_factor") ? elements : elements / scales;
  return 1.0 / std::sqrt(static_cast<double>(sharing) * std::max(scheme.qmax(), 1));
}

class Lsq : public FakeQuant {
 public:
  explicit Lsq(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const RandomKey&) const override {
    const at::Tensor& scale = tensors.scale();
    write_in_place(scale, scale.detach().abs().clamp_min(kScaleFloor));
    const at::Tensor zero = rounded_zero_point(tensors.zero_point());
    const double factor = gradient_factor(scheme(), x.numel(), scale.numel(), spec().options);
    return apply_rule(
        {x, scale, tensors.zero_point()},
        {.forward = [&, this](const Tensors& in) { return fake_quantize(in[0], {in[1], zero, scheme(), spec().by}); },
         .backward = [scheme = scheme(), by = spec().by, factor](const at::Tensor& dy,
                                                                 const Tensors& saved) -> Tensors {
           at::Tensor dx, ds, dz;
           lsq_backward(dy, saved[0], {saved[1], saved[2], scheme, by}, dx, ds, dz);
           return {dx, ds.mul_(factor), scheme.symmetric() ? at::Tensor() : dz.mul_(factor)};
         },
         // A copy of the scale: a later forward of the same quantizer may write into it.
         .save = [&](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0], in[1].clone(), zero}; }});
  }

 private:
  at::Tensor rounded_zero_point(const at::Tensor& zero) const {
    if (scheme().symmetric()) return at::zeros_like(zero.detach());
    return at::round(zero.detach()).clamp_(scheme().qmin(), scheme().qmax());
  }
};

std::unique_ptr<FakeQuant> make(const FakeQuantSpec& spec) { return std::make_unique<Lsq>(spec); }

std::unique_ptr<FakeQuant> make_plus(const FakeQuantSpec& spec) {
  QUENCH_CHECK(!spec.scheme.symmetric(),
               "fake quantizer 'lsq_plus' learns a zero point and needs an affine scheme, not '", spec.scheme.text(),
               "'; 'lsq' takes a symmetric one");
  return std::make_unique<Lsq>(spec);
}

const std::vector<OptionInfo> kOptions = {
    {"grad_scaling", 1.0, "scale gradients are multiplied by 1/sqrt(N p)"},
    {"whole_tensor_factor", 0.0, "N counts the whole tensor per channel too, as mmrazor does"}};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "lsq", "the scale learns (LSQ)",
                     {.make = make, .options = kOptions, .learns_scale = true})
QUENCH_REGISTER_ITEM(FakeQuantEntry, "lsq_plus", "scale and zero point learn (LSQ+)",
                     {.make = make_plus, .options = kOptions, .learns_scale = true, .learns_zero_point = true})

}  // namespace
}  // namespace quench

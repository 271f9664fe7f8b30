// lsq: the scale learns (Esser et al., "Learned step size quantization", 2020; docs/numerics.md 5.3).
// lsq_plus: the zero point learns too (Bhalgat et al., "LSQ+", 2020; docs/numerics.md 5.4). The paper's float offset
// could not be deployed; the zero point can.
#include "fake_quant/lsq.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "fake_quant/in_place.h"
#include "fake_quant/learned_scale.h"
#include "kernels/learned_params.h"
#include "quant/scale_rule.h"
#include "quench/error.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

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

  bool takes_bfloat16() const override { return true; }
  bool takes_relu() const override { return true; }
  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun& run) const override {
    const auto [scale, zero] = used(tensors);
    const bool learns_zero = !scheme().symmetric() && tensors.zero_point().requires_grad();
    const double factor = gradient_factor(scheme(), x.numel(), scale.numel(), spec().options);
    return apply_rule({x, tensors.scale(), tensors.zero_point()},
                      {.forward =
                           [&scale = scale, &zero = zero, &run, this](const Tensors& in) {
                             return fake_quantize(in[0], {scale, zero, scheme(), spec().by, 1.0, run.after_relu});
                           },
                       .backward = [scheme = scheme(), by = spec().by, factor, learns_zero, relu = run.after_relu](
                                       const at::Tensor& dy, const Tensors& saved) -> Tensors {
                         at::Tensor dx, ds, dz;
                         lsq_backward(dy, saved[0], {saved[1], saved[2], scheme, by, factor, relu}, dx, ds, dz);
                         return {dx, ds, learns_zero ? dz : at::Tensor()};
                       },
                       .save = [&scale = scale, &zero = zero](const Tensors& in, const at::Tensor&) -> Tensors {
                         return {in[0], scale, zero};
                       }});
  }

 private:
  // Scale and zero point, in one kernel where there is one.
  std::pair<at::Tensor, at::Tensor> used(const FakeQuantTensors& tensors) const {
    const at::Tensor &scale = tensors.scale(), &zero = tensors.zero_point();
    at::Tensor positive, codes;
    const CodeBounds bounds{static_cast<float>(scheme().qmin()), static_cast<float>(scheme().qmax()),
                            scheme().symmetric()};
    const bool in_one =
        !scheme().power_of_two_scale() &&
        learned_params_in_one(scale, zero, {kScaleFloor, bounds, c10::GradMode::is_enabled()}, positive, codes);
    if (in_one) return {positive, codes};
    return {used_scale(scale, scheme()), used_zero_point(zero)};
  }

  // One rounding for both directions. The parameter is kept within the codes, or it would wind up beyond them.
  at::Tensor used_zero_point(const at::Tensor& zero) const {
    if (scheme().symmetric()) return at::zeros_like(zero.detach());
    const at::Tensor clamped = zero.detach().clamp(scheme().qmin(), scheme().qmax());
    if (c10::GradMode::is_enabled()) write_in_place(zero, clamped);
    return at::round(clamped);
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

const VendorNode kVendorNode = {{"LearnablePerTensorAffine", VendorLayout::kCodesAsInputs},
                                {"FakeQuantizeLearnablePerchannelAffine", VendorLayout::kCodesAsAttributes}};
QUENCH_REGISTER_ITEM(VendorNode, "lsq", "a scale that learns", (kVendorNode))
QUENCH_REGISTER_ITEM(VendorNode, "lsq_plus", "a scale and a zero point that learn", (kVendorNode))

}  // namespace

bool lsq_quantized_and_slopes(const at::Tensor& x, const AffineArgs& args, const Options& options, at::Tensor& both) {
  return quantized_and_slopes_in_one(x, args, gradient_factor(args.scheme, x.numel(), 1, options), both);
}

// quant/affine.h: scale_slope, of a whole tensor.
at::Tensor lsq_slopes(const at::Tensor& x, const AffineArgs& args, const Options& options) {
  QUENCH_CHECK(args.scale.numel() == 1, "slopes are of one scale, not of ", args.scale.numel());
  const double factor = gradient_factor(args.scheme, x.numel(), 1, options);
  if (at::Tensor slopes; slopes_in_one(x, args, factor, slopes)) return slopes;
  const at::Tensor scale = args.scale.reshape({}), zero = args.zero_point.reshape({});
  const at::Tensor steps = args.by == QuantizeBy::kDivision ? x / scale : x * scale.reciprocal();
  const at::Tensor rounded = steps.round();
  const at::Tensor clamped = rounded.clamp(args.scheme.qmin() - zero, args.scheme.qmax() - zero);
  const at::Tensor outside = clamped != rounded;
  return clamped.sub_(steps.masked_fill(outside, 0.0)).mul_(factor);
}

}  // namespace quench

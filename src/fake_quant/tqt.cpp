// tqt: power-of-two steps whose threshold learns in the log domain (Jain et al., "Trained quantization
// thresholds", 2020, equations 5 to 8; docs/numerics.md 5.7). Symmetric, per tensor.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <numbers>

#include "fake_quant/in_place.h"
#include "kernels/affine/affine.h"
#include "quant/rounding.h"
#include "quench/error.h"
#include "quench/fake_quant.h"
#include "quench/gradient.h"
#include "quench/vendor_node.h"

namespace quench {
namespace {

class Tqt : public FakeQuant {
 public:
  explicit Tqt(const FakeQuantSpec& spec) : FakeQuant(spec) {
    std::string type = spec.options.word("type");
    if (type.empty()) type = spec.role == Role::kActivation ? "tensor" : "param";
    if (type != "param" && type != "input" && type != "tensor")
      fail_unknown_name("type of 'tqt'", type, {"input", "param", "tensor"});
    const std::string& rounding = spec.options.word("rounding");
    if (!rounding.empty())
      rounding_ = rounding_from_name(rounding);
    else
      rounding_ = type == "param" ? Rounding::kHalfEven : Rounding::kHalfUpNegative;
  }

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun&) const override {
    const at::Tensor step = step_of(tensors.own(0));
    if (c10::GradMode::is_enabled()) write_in_place(tensors.scale(), step);
    const auto low = static_cast<float>(scheme().qmin()), high = static_cast<float>(scheme().qmax());
    return apply_rule(
        {x, tensors.own(0)},
        {.forward =
             [&, this](const Tensors& in) {
               // The quotient by a power of two is exact, so ties are true ties.
               return round_by(in[0] / step, rounding_).clamp_(low, high).add_(0.0).mul_(step);
             },
         .backward = [low, high, rounding = rounding_](const at::Tensor& dy, const Tensors& saved) -> Tensors {
           const at::Tensor quotient = saved[0] / saved[1], code = round_by(quotient, rounding);
           const at::Tensor inside = (code >= low) & (code <= high);
           const at::Tensor slope = at::where(inside, code - quotient, code.clamp(low, high));
           const at::Tensor sum = (dy * slope).sum(at::kDouble).to(at::kFloat);
           return {at::where(inside, dy, at::zeros({}, dy.options())), sum * saved[1] * std::numbers::ln2_v<float>};
         },
         .save = [&](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0], step}; }});
  }

  // The threshold of the observed step, so that the step comes out as it was or rounded up.
  void accept(const QParams& params, const FakeQuantTensors& tensors) const override {
    const float threshold = std::log2(params.scale.at(0)) + static_cast<float>(width());
    write_in_place(tensors.own(0), at::scalar_tensor(threshold));
    write_in_place(tensors.scale(), step_of(tensors.own(0)));
    write_in_place(tensors.zero_point(), at::zeros({}));
  }

  QParams deployed(const FakeQuantTensors& tensors) const override {
    return {{step_of(tensors.own(0)).item<float>()}, {0}};
  }

 private:
  int width() const { return scheme().bits() - (scheme().is_signed() ? 1 : 0); }

  at::Tensor step_of(const at::Tensor& log2_threshold) const {
    const double least = spec().options.number("least_log2_step");
    return at::exp2((at::ceil(log2_threshold.detach()) - width()).clamp_min(least));
  }

  Rounding rounding_ = Rounding::kHalfEven;
};

QUENCH_REGISTER_ITEM(
    FakeQuantEntry, "tqt", "power-of-two steps, the log2 of the threshold learns (TQT)",
    {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
       QUENCH_CHECK(spec.scheme.symmetric(), "fake quantizer 'tqt' needs a symmetric scheme, not '", spec.scheme.text(),
                    "'");
       return std::make_unique<Tqt>(spec);
     },
     .options = {{"type", "", "input, param or tensor: the tie rule (default: param for weights, else tensor)"},
                 {"rounding", "", "half_even, half_up_negative, half_up or half_away: ties (default: by type)"},
                 {"least_log2_step", -126.0, "log2 of the smallest step that the target allows"}},
     .params = [](const FakeQuantSpec&) -> std::vector<FakeQuantParam> {
       return {{"log2_t", ParamShape::kScalar, true, 0.0}};
     },
     .per_channel = false})
QUENCH_REGISTER_ITEM(VendorNode, "tqt", "power-of-two steps",
                     {{"FakeQuantizeTqtAffine", VendorLayout::kCodesAsAttributes}, {}})

}  // namespace
}  // namespace quench

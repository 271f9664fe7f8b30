// adaround: whether a weight is rounded down or up learns (Nagel et al., "Up or down?", 2020, equations 22 to
// 25; docs/numerics.md 5.10). `mode` nearest behaves like `fixed`; soft trains alpha; hard rounds as alpha says.
#include "fake_quant/adaround.h"

#include <ATen/ATen.h>

#include "fake_quant/affine_rule.h"
#include "kernels/affine/learned.h"
#include "kernels/layout.h"
#include "quant/adaround.h"
#include "quench/fake_quant.h"
#include "quench/gradient.h"

namespace quench {
namespace {

at::Tensor quotient(const at::Tensor& weight, const AffineArgs& args) {
  const at::Tensor scale = spread_scales(args.scale.detach(), weight, args.scheme);
  return args.by == QuantizeBy::kDivision ? weight / scale : weight * at::reciprocal(scale);
}

at::Tensor hard_rounding(const at::Tensor& weight, const at::Tensor& alpha, const AffineArgs& args) {
  const at::Tensor zero = spread_scales(args.zero_point.detach(), weight, args.scheme);
  const at::Tensor code = at::floor(quotient(weight, args)) + (alpha >= 0).to(at::kFloat) + zero;
  return (code.clamp(args.scheme.qmin(), args.scheme.qmax()) - zero) *
         spread_scales(args.scale.detach(), weight, args.scheme);
}

class AdaRound : public FakeQuant {
 public:
  explicit AdaRound(const FakeQuantSpec& spec) : FakeQuant(spec), mode_(spec.options.word("mode")) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun&) const override {
    const AffineArgs args{tensors.scale(), tensors.zero_point(), scheme(), spec().by};
    if (mode_ == "nearest") return affine_with_mask(x, args);
    const at::Tensor& alpha = tensors.own(0);
    if (mode_ == "hard") return hard_rounding(x.detach(), alpha.detach(), args);
    const at::Tensor scale = tensors.scale().detach().clone(), zero = tensors.zero_point().detach().clone();
    return apply_rule(
        {x, alpha},
        {.forward = [&](const Tensors& in) { return adaround_forward(in[0], in[1], args); },
         .backward = [scheme = scheme(), by = spec().by](const at::Tensor& dy, const Tensors& saved) -> Tensors {
           return {at::Tensor(), adaround_backward(dy, saved[0], saved[1], {saved[2], saved[3], scheme, by})};
         },
         .save = [&](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0], in[1], scale, zero}; }});
  }

 private:
  std::string mode_;
};

QUENCH_REGISTER_ITEM(FakeQuantEntry, "adaround", "learns whether a weight rounds down or up (AdaRound)",
                     {.make = [](const FakeQuantSpec& spec) -> std::unique_ptr<FakeQuant> {
                        const std::string& mode = spec.options.word("mode");
                        if (mode != "nearest" && mode != "soft" && mode != "hard")
                          fail_unknown_name("mode of 'adaround'", mode, {"hard", "nearest", "soft"});
                        return std::make_unique<AdaRound>(spec);
                      },
                      .options = {{"mode", "nearest", "nearest, soft (alpha learns) or hard (rounds as alpha says)"}},
                      .params = [](const FakeQuantSpec&) -> std::vector<FakeQuantParam> {
                        return {{"alpha", ParamShape::kInput, true, 0.0}};
                      },
                      .for_activations = false})

}  // namespace

at::Tensor adaround_initial(const at::Tensor& weight, const AffineArgs& args) {
  const at::Tensor steps = quotient(weight.detach(), args), rest = steps - at::floor(steps);
  return -at::log(kAdaStretch / (rest - kAdaGamma) - 1);
}

}  // namespace quench

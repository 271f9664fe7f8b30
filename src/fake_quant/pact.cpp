// pact: the clipping value of an activation learns (Choi et al., "PACT", 2018; docs/numerics.md 5.5). Scale and zero
// point follow from it on every forward. The scheme says which ends there are: signed symmetric [-alpha, alpha],
// unsigned symmetric [0, alpha], affine [beta, alpha].
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "fake_quant/in_place.h"
#include "kernels/affine/learned.h"
#include "kernels/learned_params.h"
#include "quant/rule_of.h"
#include "quant/scale_rule.h"
#include "quench/error.h"
#include "quench/fake_quant.h"
#include "quench/gradient.h"

namespace quench {
namespace {

constexpr double kInitialClip = 6.0;

class Pact : public FakeQuant {
 public:
  explicit Pact(const FakeQuantSpec& spec) : FakeQuant(spec) {}

  at::Tensor quantize(const at::Tensor& x, const FakeQuantTensors& tensors, const FakeQuantRun&) const override {
    const Used used = used_of(x, tensors);
    Tensors inputs = {x, tensors.own(0)};
    if (!scheme().symmetric()) inputs.push_back(tensors.own(1));
    const auto clip_with = [](PactClip clip, const at::Tensor& on_device) {
      clip.on_device = on_device.defined() ? &on_device : nullptr;
      return clip;
    };
    return apply_rule(inputs, {.forward =
                                   [&, this](const Tensors& in) {
                                     return pact_forward(in[0], clip_with(used.clip, used.on_device),
                                                         {used.scale, used.zero, scheme(), spec().by});
                                   },
                               .backward = [scheme = scheme(), by = spec().by, clip = used.clip, clip_with](
                                               const at::Tensor& dy, const Tensors& saved) -> Tensors {
                                 at::Tensor dx, above, below;
                                 pact_backward(dy, saved[0], clip_with(clip, saved[3]),
                                               {saved[1], saved[2], scheme, by}, dx, above, below);
                                 if (!scheme.symmetric()) return {dx, above, below};
                                 return {dx, scheme.is_signed() ? above - below : above};
                               },
                               .save = [&](const Tensors& in, const at::Tensor&) -> Tensors {
                                 return {in[0], used.scale, used.zero, used.on_device};
                               }});
  }

  void accept(const QParams& params, const FakeQuantTensors& tensors) const override {
    if (spec().options.word("init") == "observer") {
      const float scale = params.scale.at(0);
      const auto zero = static_cast<float>(params.zero_point.at(0));
      write_in_place(tensors.own(0), at::scalar_tensor(steps_above(zero) * scale));
      if (!scheme().symmetric())
        write_in_place(tensors.own(1), at::scalar_tensor((static_cast<float>(scheme().qmin()) - zero) * scale));
    }
    write(tensors, scale_of(clip_of(tensors)));
  }

  QParams deployed(const FakeQuantTensors& tensors) const override {
    const PactClip clip = clip_of(tensors);
    return qparams_of_range(scheme(), {clip.low}, {clip.high});
  }

 private:
  // What a forward uses. On a GPU the clip stays there: nobody waits for it, and a step can be captured.
  struct Used {
    PactClip clip;
    at::Tensor scale, zero, on_device;
  };

  Used used_of(const at::Tensor& x, const FakeQuantTensors& tensors) const {
    const at::Tensor beta = scheme().symmetric() ? at::Tensor() : tensors.own(1);
    at::Tensor found;
    if (pact_params_in_one({tensors.own(0), beta, tensors.scale(), tensors.zero_point(), rule_of(scheme()),
                            c10::GradMode::is_enabled()},
                           found))
      return {{0.0F, 0.0F}, found.select(0, 2), found.select(0, 3), found};
    const PactClip clip = clip_of(tensors);
    const ScaleZero pair = scale_of(clip);
    if (c10::GradMode::is_enabled()) write(tensors, pair);
    const at::TensorOptions options = x.options().requires_grad(false);
    return {clip, at::full({}, pair.scale, options), at::full({}, pair.zero_point, options), {}};
  }

  // How many steps the scale rule counts from zero to the end of the range: for signed symmetric codes half of all,
  // which is half a step more than the largest code where they are not narrow.
  float steps_above(float zero) const {
    const auto low = static_cast<float>(scheme().qmin()), high = static_cast<float>(scheme().qmax());
    return scheme().symmetric() && scheme().is_signed() ? (high - low) / 2 : high - zero;
  }

  // A clip that training drove to or beyond zero still leaves one representable step.
  PactClip clip_of(const FakeQuantTensors& tensors) const {
    const float alpha = std::max(learned(tensors, 0, "alpha"), kScaleFloor);
    if (scheme().symmetric()) return {scheme().is_signed() ? -alpha : 0.0F, alpha};
    return {std::min(learned(tensors, 1, "beta"), 0.0F), alpha};
  }

  static float learned(const FakeQuantTensors& tensors, std::size_t index, const char* name) {
    const auto value = tensors.own(index).item<float>();
    QUENCH_CHECK(std::isfinite(value), name, " of PACT is ", value, ": training diverged");
    return value;
  }

  // Checked: a clip that training drove towards infinity may have no finite scale.
  ScaleZero scale_of(const PactClip& clip) const {
    const QParams params = qparams_of_range(scheme(), {clip.low}, {clip.high});
    return {params.scale[0], static_cast<float>(params.zero_point[0])};
  }

  static void write(const FakeQuantTensors& tensors, const ScaleZero& pair) {
    write_in_place(tensors.scale(), at::scalar_tensor(pair.scale));
    write_in_place(tensors.zero_point(), at::scalar_tensor(pair.zero_point));
  }
};

std::vector<FakeQuantParam> params(const FakeQuantSpec& spec) {
  std::vector<FakeQuantParam> result = {{"alpha", ParamShape::kScalar, true, kInitialClip}};
  if (!spec.scheme.symmetric()) result.push_back({"beta", ParamShape::kScalar, true, -kInitialClip});
  return result;
}

std::unique_ptr<FakeQuant> make(const FakeQuantSpec& spec) {
  const std::string& init = spec.options.word("init");
  if (init != "fixed" && init != "observer") fail_unknown_name("init of 'pact'", init, {"fixed", "observer"});
  return std::make_unique<Pact>(spec);
}

QUENCH_REGISTER_ITEM(FakeQuantEntry, "pact", "the clipping value learns (PACT)",
                     {.make = make,
                      .options = {{"init", "fixed", "alpha begins at 6 (fixed) or at the observed range (observer)"}},
                      .params = params,
                      .for_weights = false,
                      .per_channel = false})

}  // namespace
}  // namespace quench

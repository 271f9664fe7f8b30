#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(Pact, GradientsEqualTheFormula) {
  for (const char* text : {"int4 symmetric tensor", "uint4 symmetric tensor", "uint4 affine tensor"}) {
    const QScheme scheme = QScheme::parse(text);
    const at::Tensor x = (sample({3, 4, 5, 6}) * 4).requires_grad_(), dy = sample({3, 4, 5, 6}, 2);
    Quantizer quantizer(spec_of("pact", text), {});
    quantizer.flags.quantize = true;
    quantizer(x).backward(dy);
    const at::Tensor xd = x.detach().to(at::kDouble), g = dy.to(at::kDouble);
    const double high = 6.0, low = scheme.symmetric() && !scheme.is_signed() ? 0.0 : -6.0;
    const at::Tensor above = (g * (xd > high)).sum(), below = (g * (xd < low)).sum();
    const bool mirrored = scheme.symmetric() && scheme.is_signed();
    const auto parameters = quantizer.parameters();
    expect_close(parameters.at("alpha").grad(), mirrored ? above - below : above, x.numel(), "alpha");
    if (!scheme.symmetric()) expect_close(parameters.at("beta").grad(), below, x.numel(), "beta");
    const at::Tensor s = quantizer.tensors().scale().detach(), z = quantizer.tensors().zero_point().detach();
    const at::Tensor q = at::round(x.detach() * (1 / s)) + z;
    const at::Tensor passes = (xd >= low) & (xd <= high) & (q >= scheme.qmin()) & (q <= scheme.qmax());
    EXPECT_TRUE(at::equal(x.grad(), at::where(passes, dy, at::zeros({})))) << text;
  }
}

// The clip is smooth in alpha but for its kink: what flows to alpha is the derivative of the clipped input.
TEST(Pact, EqualsFiniteDifferencesOfTheClip) {
  const at::Tensor x = (sample({1000}) * 4).requires_grad_(), dy = sample({1000}, 2);
  Quantizer quantizer(spec_of("pact", "uint8 affine tensor"), {});
  quantizer.flags.quantize = true;
  quantizer(x).backward(dy);
  const auto clipped = [&](double low, double high) {
    return (x.detach().to(at::kDouble).clamp(low, high) * dy).sum();
  };
  const double h = 1e-6;
  const at::Tensor alpha = (clipped(-6, 6 + h) - clipped(-6, 6 - h)) / (2 * h);
  const at::Tensor beta = (clipped(-6 + h, 6) - clipped(-6 - h, 6)) / (2 * h);
  EXPECT_NEAR(quantizer.parameters().at("alpha").grad().item<double>(), alpha.item<double>(), 1e-4);
  EXPECT_NEAR(quantizer.parameters().at("beta").grad().item<double>(), beta.item<double>(), 1e-4);
}

// D3: alpha learns whenever the quantizer quantizes, observer or not; the ends are those of the scheme, whatever
// the batch holds.
TEST(Pact, LearnsWithoutAnObserver) {
  Quantizer quantizer(spec_of("pact", "uint4 symmetric tensor"), {});
  quantizer.flags.quantize = true;
  const at::Tensor y = quantizer(at::tensor({9.0F, 9.0F, -9.0F, 9.0F}));
  EXPECT_TRUE(at::equal(y, at::tensor({6.0F, 6.0F, 0.0F, 6.0F})));
  y.sum().backward();
  EXPECT_EQ(quantizer.parameters().at("alpha").grad().item<float>(), 3.0F);
}

TEST(Pact, MayBeginAtTheObservedRange) {
  const at::Tensor x = at::linspace(0, 2, 50);
  const Options options({{"init", "observer"}});
  Quantizer quantizer = quantizing(spec_of("pact", "uint8 symmetric tensor", Role::kActivation, options), x);
  EXPECT_NEAR(quantizer.parameters().at("alpha").item<float>(), 2.0F, 1e-5F);
  EXPECT_ERROR(make_fake_quant(spec_of("pact", "uint8 tensor", Role::kActivation, Options({{"init", "x"}}))),
               "unknown init 'x' of 'pact'", "fixed, observer");
}

// Of signed codes that are not narrow the largest stands for less than the range's end: at 2 bits 1 of 1.5 steps.
TEST(Pact, BeginsAtTheWholeObservedRangeWhateverTheCodes) {
  const at::Tensor x = at::linspace(-3, 3, 51);
  for (const char* text : {"int2 symmetric tensor", "int2 symmetric tensor narrow", "int8 symmetric tensor",
                           "uint2 symmetric tensor", "int2 affine tensor"}) {
    const Options options({{"init", "observer"}});
    Quantizer quantizer = quantizing(spec_of("pact", text, Role::kActivation, options), x);
    const QScheme scheme = QScheme::parse(text);
    // An affine range moves to where zero has a code, by half a step at most.
    const float slack = scheme.symmetric() ? 1e-5F : 0.5F * 6.0F / 3.0F + 1e-5F;
    EXPECT_NEAR(quantizer.parameters().at("alpha").item<float>(), 3.0F, slack) << text;
  }
}

// D1: what is trained is what the one rule gives for the clip, and what is deployed.
TEST(Pact, ForwardIsTheAffineOpOnTheClippedInput) {
  for (const char* text : {"int4 symmetric tensor", "uint4 symmetric tensor", "uint4 affine tensor"}) {
    const QScheme scheme = QScheme::parse(text);
    const at::Tensor x = sample({3, 4, 5, 6}) * 4;
    Quantizer quantizer(spec_of("pact", text), {});
    quantizer.flags.quantize = true;
    const float low = scheme.symmetric() && !scheme.is_signed() ? 0.0F : -6.0F;
    const QParams params = qparams_of_range(scheme, {low}, {6.0F});
    const at::Tensor expected = at::fake_quantize_per_tensor_affine(x.clamp(low, 6.0F), params.scale[0],
                                                                    params.zero_point[0], scheme.qmin(), scheme.qmax());
    EXPECT_TRUE(at::equal(quantizer(x), expected)) << text;
    EXPECT_EQ(make_fake_quant(quantizer.spec())->deployed(quantizer.tensors()), params) << text;
  }
}

TEST(Pact, SurvivesAClipBelowZero) {
  Quantizer quantizer(spec_of("pact", "uint8 symmetric tensor"), {});
  quantizer.load({{"scale", at::ones({})},
                  {"zero_point", at::zeros({})},
                  {"alpha", at::full({}, -1.0F)},
                  {"flags", at::tensor({0, 1}, at::kByte)}});
  EXPECT_TRUE(quantizer(sample({100})).isfinite().all().item<bool>());
}

TEST(Pact, RefusesAClipWithoutAScale) {
  const auto message = [](const char* scheme, float alpha, float beta) {
    Quantizer quantizer(spec_of("pact", scheme), {});
    quantizer.flags.quantize = true;
    const c10::NoGradGuard no_grad;
    quantizer.tensors().own(0).fill_(alpha);
    if (quantizer.tensors().all.size() > 3) quantizer.tensors().own(1).fill_(beta);
    try {
      quantizer(sample({100}));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("int1 symmetric tensor", 3e38F, 0).find("does not fit float32"), std::string::npos);
  EXPECT_NE(message("uint8 affine tensor", NAN, 0).find("alpha of PACT is nan"), std::string::npos);
  EXPECT_NE(message("uint8 affine tensor", 1, NAN).find("beta of PACT is nan"), std::string::npos);
}

}  // namespace
}  // namespace quench

// LSQ and LSQ+ against a double-precision oracle written from docs/numerics.md 5.3, and against LibTorch's kernel.
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "fake_quant/lsq.h"
#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

struct Case {
  const char* scheme;
  float scale, zero_point;
};

Quantizer learning(const Case& given, Options options = {}) {
  const bool symmetric = QScheme::parse(given.scheme).symmetric();
  Quantizer quantizer(spec_of(symmetric ? "lsq" : "lsq_plus", given.scheme, Role::kActivation, std::move(options)), {});
  quantizer.load({{"scale", at::full({}, given.scale)},
                  {"zero_point", at::full({}, given.zero_point)},
                  {"flags", at::tensor({0, 1}, at::kByte)}});
  return quantizer;
}

class Lsq : public testing::TestWithParam<Case> {};

TEST_P(Lsq, GradientsEqualTheOracle) {
  const QScheme scheme = QScheme::parse(GetParam().scheme);
  const at::Tensor x = away_from_ties(sample({4, 5, 6, 7}) * 2, GetParam().scale).requires_grad_();
  const at::Tensor dy = sample({4, 5, 6, 7}, 2);
  Quantizer quantizer = learning(GetParam());
  const at::Tensor y = quantizer(x);
  y.backward(dy);

  const at::Tensor xd = leaf(x), s = leaf(quantizer.tensors().scale()), z = leaf(quantizer.tensors().zero_point());
  const at::Tensor v = xd / s, zr = straight_through(z, at::round(z)), q = (at::round(v) + zr).detach();
  const at::Tensor inside = straight_through(v, at::round(v));
  const at::Tensor above = at::where(q > scheme.qmax(), scheme.qmax() - zr, inside);
  const at::Tensor steps = at::where(q < scheme.qmin(), scheme.qmin() - zr, above);
  (steps * s).backward(dy.to(at::kDouble));
  const double factor = 1.0 / std::sqrt(static_cast<double>(x.numel()) * scheme.qmax());
  EXPECT_LE((y.to(at::kDouble) - steps * s).abs().max().item<double>(), 1e-5);
  expect_close(x.grad(), xd.grad(), 0, "dx");
  expect_close(quantizer.tensors().scale().grad(), s.grad() * factor, x.numel(), "ds");
  if (!scheme.symmetric()) {
    expect_close(quantizer.tensors().zero_point().grad(), z.grad() * factor, x.numel(), "dz");
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Lsq,
                         testing::Values(Case{"int8 symmetric tensor", 0.02F, 0},
                                         Case{"int2 symmetric tensor", 0.7F, 0}, Case{"uint4 affine tensor", 0.3F, 5},
                                         Case{"uint8 affine tensor", 0.01F, 128},
                                         Case{"uint4 affine tensor", 0.2F, 6.6F}));

TEST(Lsq, PerChannelEqualsEachChannelAlone) {
  const at::Tensor x = (sample({3, 4, 5}) * at::tensor({1.0F, 2.0F, 3.0F, 0.5F}).reshape({1, 4, 1})).requires_grad_();
  const at::Tensor dy = sample({3, 4, 5}, 2);
  Quantizer whole = quantizing(spec_of("lsq", "int3 symmetric channel:1"), x.detach());
  whole(x).backward(dy);
  for (int c = 0; c < 4; ++c) {
    const at::Tensor part = x.detach().narrow(1, c, 1).contiguous().requires_grad_();
    Quantizer one = quantizing(spec_of("lsq", "int3 symmetric tensor"), part.detach());
    one(part).backward(dy.narrow(1, c, 1));
    EXPECT_TRUE(at::equal(part.grad(), x.grad().narrow(1, c, 1)));
    const float together = whole.tensors().scale().grad()[c].item<float>();
    const float alone = one.tensors().scale().grad().item<float>();
    EXPECT_NEAR(together, alone, std::abs(alone) * 1e-5F + 1e-6F);  // 15 terms in another order
  }
}

// LibTorch's learnable kernel where it is right: even zero points, away from ties.
TEST(Lsq, EqualsLibTorchsKernel) {
  const at::Tensor x = away_from_ties(sample({4, 5, 6}) * 2, 0.25).requires_grad_();
  const at::Tensor dy = sample({4, 5, 6}, 2);
  Quantizer quantizer = learning({"uint4 affine tensor", 0.25F, 6}, Options({{"grad_scaling", 0.0}}));
  const at::Tensor y = quantizer(x);
  y.backward(dy);
  const at::Tensor other = x.detach().clone().requires_grad_();
  const at::Tensor s = at::full({1}, 0.25F).requires_grad_(), z = at::full({1}, 6.0F).requires_grad_();
  const at::Tensor theirs = at::_fake_quantize_learnable_per_tensor_affine(other, s, z, 0, 15, 1.0);
  theirs.backward(dy);
  EXPECT_TRUE(at::equal(y, theirs));
  EXPECT_TRUE(at::equal(x.grad(), other.grad()));
  expect_close(quantizer.tensors().scale().grad(), s.grad().to(at::kDouble), x.numel(), "ds");
  expect_close(quantizer.tensors().zero_point().grad(), z.grad().to(at::kDouble), x.numel(), "dz");
}

TEST(Lsq, TurnsANegativeScalePositiveWhileItTrains) {
  Quantizer quantizer = learning({"int8 symmetric tensor", -0.5F, 0});
  {
    const c10::NoGradGuard no_grad;
    EXPECT_EQ(quantizer(at::ones({1})).item<float>(), 1.0F);
    EXPECT_EQ(quantizer.tensors().scale().item<float>(), -0.5F);
  }
  quantizer(sample({4}));
  EXPECT_EQ(quantizer.tensors().scale().item<float>(), 0.5F);
}

TEST(Lsq, CountsTheWholeTensorWhereAskedTo) {
  const at::Tensor x = sample({2, 4, 9});
  const auto gradient = [&](double whole) {
    const Options options({{"whole_tensor_factor", whole}});
    Quantizer quantizer = quantizing(spec_of("lsq", "int4 symmetric channel:1", Role::kActivation, options), x);
    quantizer(x).sum().backward();
    return quantizer.tensors().scale().grad();
  };
  EXPECT_TRUE(at::allclose(gradient(1) * 2, gradient(0)));  // sqrt of 4 channels
}

// The power of two is used, the scale itself goes on learning; the gradient goes straight through.
TEST(Lsq, UsesAPowerOfTwoWhereTheSchemeSaysSo) {
  Quantizer quantizer = learning({"int8 symmetric tensor pot", 0.3F, 0});
  const at::Tensor y = quantizer(at::tensor({1.1F}));
  y.backward(at::ones({1}));
  EXPECT_EQ(y.item<float>(), 1.0F);  // steps of a quarter
  EXPECT_EQ(quantizer.tensors().scale().item<float>(), 0.3F);
  EXPECT_NEAR(quantizer.tensors().scale().grad().item<float>(), (4 - 4.4F) / std::sqrt(127.0F), 1e-6F);
  EXPECT_EQ(make_fake_quant(quantizer.spec())->deployed(quantizer.tensors()).scale[0], 0.25F);
}

// Weighted by dy they add up to what the fused loop gives.
TEST(Lsq, SlopesAreTheTermsOfTheGradient) {
  for (const char* text : {"int4 symmetric tensor", "uint4 affine tensor"}) {
    const QScheme scheme = QScheme::parse(text);
    const Options options({{"grad_scaling", 1.0}, {"whole_tensor_factor", 0.0}});
    const at::Tensor x = sample({50}), scale = at::full({}, 0.3F),
                     zero = at::full({}, scheme.symmetric() ? 0.0F : 5.0F);
    const at::Tensor slopes = lsq_slopes(x, {scale, zero, scheme}, options);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      at::Tensor dy = at::zeros_like(x), dx, ds, dz;
      dy[i] = 1.0F;
      lsq_backward(dy, x, {scale, zero, scheme}, dx, ds, dz);
      EXPECT_NEAR(slopes[i].item<float>(), ds.item<float>() / std::sqrt(50.0F * static_cast<float>(scheme.qmax())),
                  1e-6F);
    }
    EXPECT_ERROR(lsq_slopes(x, {at::ones({2}), zero, scheme}, options), "slopes are of one scale, not of 2");
  }
}

TEST(LsqPlus, KeepsItsZeroPointAmongTheCodes) {
  Quantizer quantizer = learning({"uint4 affine tensor", 0.5F, 90});
  quantizer(sample({4}));
  EXPECT_EQ(quantizer.tensors().zero_point().item<float>(), 15.0F);
}

TEST(LsqPlus, RefusesASymmetricScheme) {
  EXPECT_ERROR(make_fake_quant(spec_of("lsq_plus", "int8 symmetric tensor")), "'lsq_plus'", "needs an affine scheme");
}

}  // namespace
}  // namespace quench

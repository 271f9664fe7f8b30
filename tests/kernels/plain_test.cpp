// The plain loops against the formulas of docs, written out in float64 with LibTorch's operators.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/affine/affine.h"
#include "kernels/affine/learned.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

struct Case {
  QScheme scheme = QScheme::parse("uint4 affine channel:1");
  at::Tensor x = at::randn({3, 5, 7}) * 2;
  at::Tensor dy = at::randn({3, 5, 7});
  at::Tensor scale = at::arange(1, 6, at::kFloat) / 8;
  at::Tensor zero = at::arange(1, 6, at::kFloat) * 2;
  AffineArgs args() const { return {scale, zero, scheme, QuantizeBy::kDivision}; }
  // By the text of docs/numerics.md 4: round, add z, clamp, subtract.
  at::Tensor s() const { return scale.to(at::kDouble).reshape({5, 1}); }
  at::Tensor z() const { return zero.to(at::kDouble).reshape({5, 1}); }
  at::Tensor v() const { return (x / scale.reshape({5, 1})).to(at::kDouble); }
  at::Tensor code() const { return v().round() + z(); }
  at::Tensor inside() const { return code().ge(0).logical_and(code().le(15)); }
};

TEST(PlainKernels, FakeQuantizeIsRoundAddClampSubtract) {
  const Case c;
  const at::Tensor expected = ((c.code().clamp(0, 15) - c.z()) * c.s()).to(at::kFloat);
  EXPECT_TRUE(at::equal(fake_quantize_ref(c.x, c.args()), expected));
  at::Tensor y, mask;
  fake_quantize_masked_ref(c.x, c.args(), y, mask);
  EXPECT_TRUE(at::equal(y, expected));
  EXPECT_TRUE(at::equal(mask, c.inside()));
  EXPECT_FALSE(mask.all().item<bool>());
  EXPECT_TRUE(at::equal(masked_gradient_ref(c.dy, mask), c.dy * mask));
  const at::Tensor codes = quantize_codes(c.x, c.args());
  EXPECT_TRUE(at::equal(codes, c.code().clamp(0, 15).to(at::kInt)));
  EXPECT_TRUE(at::equal(dequantize_codes(codes, c.args()), expected));
}

TEST(PlainKernels, FakeQuantizeEqualsLibTorchBitForBit) {
  Case c;
  const at::Tensor expected =
      at::fake_quantize_per_channel_affine(c.x, c.scale, c.zero.to(at::kInt), /*axis=*/1, /*quant_min=*/0, 15);
  EXPECT_TRUE(at::equal(fake_quantize_ref(c.x, {c.scale, c.zero, c.scheme}), expected));
}

TEST(PlainKernels, LsqBackwardIsTheThreeSums) {
  const Case c;
  at::Tensor dx, ds, dz;
  lsq_backward_ref(c.dy, c.x, c.args(), dx, ds, dz);
  EXPECT_TRUE(at::equal(dx, c.dy * c.inside()));
  const at::Tensor below = c.code().lt(0), above = c.code().gt(15);
  const at::Tensor slope = at::where(below, 0 - c.z(), at::where(above, 15 - c.z(), c.v().round() - c.v()));
  // The slope is formed in float32 (half an ulp of 1), the sum of 21 terms in float64, the result rounded once.
  EXPECT_TRUE(at::allclose(ds.to(at::kDouble), (c.dy * slope).sum(at::IntArrayRef({0, 2})), 1e-6, 1e-6));
  EXPECT_TRUE(at::allclose(dz.to(at::kDouble),
                           -(c.dy.to(at::kDouble) * ~c.inside()).sum(at::IntArrayRef({0, 2})) * c.scale, 1e-6, 1e-6));
}

TEST(PlainKernels, DsqRoundsAsItsFormulaDoesAndHasItsSlope) {
  const Case c;
  const double alpha = 0.4, S = 1 / (1 - alpha), K = std::log((S + 1) / (S - 1));
  const at::Tensor u = (c.v() + c.z()).clamp(0, 15), f = u - u.floor(), t = at::tanh(K * (f - 0.5));
  const at::Tensor phi = u.floor() + 0.5 + 0.5 * S * t;
  EXPECT_TRUE(at::equal(dsq_forward_ref(c.x, c.args()), ((phi.round() - c.z()) * c.s()).to(at::kFloat)));
  const at::Tensor open = c.v() + c.z();
  const at::Tensor slope = 0.5 * S * K * (1 - t * t) * open.ge(0) * open.le(15);
  const at::Tensor dx = dsq_backward_ref(c.dy, c.x, c.args(), alpha);
  // exp to 2 ulp, then about six roundings; the argument's error (an ulp of v, |v| <= 15) times K enters too.
  EXPECT_TRUE(at::allclose(dx.to(at::kDouble), c.dy * slope, 5e-6, 1e-6));
}

TEST(PlainKernels, PactClipsThenQuantizes) {
  const Case c;
  const at::Tensor scale = at::full({}, 0.25), zero = at::zeros({});
  const QScheme scheme = QScheme::parse("int4 symmetric tensor");
  const AffineArgs args{scale, zero, scheme};
  const PactClip clip{-1.5F, 1.5F};
  EXPECT_TRUE(at::equal(pact_forward_ref(c.x, clip, args), fake_quantize_ref(c.x.clamp(-1.5, 1.5), args)));
  at::Tensor dx, above, below;
  pact_backward_ref(c.dy, c.x, clip, args, dx, above, below);
  EXPECT_TRUE(at::equal(dx, c.dy * c.x.abs().le(1.5)));
  EXPECT_FLOAT_EQ(above.item<float>(), (c.dy.to(at::kDouble) * c.x.gt(1.5)).sum().item<float>());
  EXPECT_FLOAT_EQ(below.item<float>(), (c.dy.to(at::kDouble) * c.x.lt(-1.5)).sum().item<float>());
}

TEST(PlainKernels, AdaRoundIsFloorPlusH) {
  const Case c;
  const at::Tensor alpha = c.dy * 4;
  const at::Tensor sigma = at::sigmoid(alpha.to(at::kDouble)), open = 1.2 * sigma - 0.1, h = open.clamp(0, 1);
  const at::Tensor code = c.v().floor() + h + c.z();
  const at::Tensor y = adaround_forward_ref(c.x, alpha, c.args());
  EXPECT_TRUE(at::allclose(y.to(at::kDouble), (code.clamp(0, 15) - c.z()) * c.s(), 1e-6, 1e-6));
  const at::Tensor passes = open.gt(0) * open.lt(1) * code.ge(0) * code.le(15);
  const at::Tensor slope = c.s() * 1.2 * sigma * (1 - sigma) * passes;
  EXPECT_TRUE(
      at::allclose(adaround_backward_ref(c.dy, c.x, alpha, c.args()).to(at::kDouble), c.dy * slope, 1e-5, 1e-6));
  // alpha far out is hard rounding, exactly: h is 0 or 1.
  EXPECT_TRUE(at::equal(adaround_forward_ref(c.x, at::full_like(c.x, -50), c.args()),
                        ((c.v().floor() + c.z()).clamp(0, 15) - c.z()).mul(c.s()).to(at::kFloat)));
}

TEST(PlainKernels, QDropQuantizesTheShareAskedFor) {
  const QScheme scheme;
  const at::Tensor scale = at::full({}, 0.1), zero = at::zeros({}), x = at::randn({100, 1000});
  const AffineArgs args{scale, zero, scheme};
  const at::Tensor quantized = fake_quantize_ref(x, args);
  const at::Tensor y = qdrop_forward_ref(x, args, 0.3, {.seed = 7, .node = 1, .step = 2});
  const at::Tensor coin = y.eq(quantized).logical_and(y.ne(x));
  EXPECT_TRUE(coin.logical_or(y.eq(x)).all().item<bool>());
  // Binomial of 1e5 with p = 0.3: deviation 145; five of them.
  EXPECT_NEAR(coin.sum().item<double>(), 3e4, 5 * 145);
  EXPECT_TRUE(at::equal(qdrop_forward_ref(x, args, 1.0, {}), quantized));
  EXPECT_TRUE(at::equal(qdrop_forward_ref(x, args, 0.0, {}), x));
  EXPECT_FALSE(at::equal(y, qdrop_forward_ref(x, args, 0.3, {.seed = 7, .node = 1, .step = 3})));
  EXPECT_FALSE(at::equal(y, qdrop_forward_ref(x, args, 0.3, {.seed = 7, .node = 2, .step = 2})));
  at::Tensor dx, ds, all_dx, all_ds, unused;
  qdrop_backward_ref(x, x, args, 0.3, {.seed = 7, .node = 1, .step = 2}, dx, ds);
  EXPECT_TRUE(at::equal(dx, x));  // |x| < 12.7: all in range
  qdrop_backward_ref(x, x, args, 1.0, {}, all_dx, all_ds);
  lsq_backward_ref(x, x, args, dx, ds, unused);
  EXPECT_TRUE(at::equal(all_ds, ds));
}

TEST(PlainKernels, NanStaysNanAndInfinitiesClamp) {
  const QScheme scheme;
  const at::Tensor scale = at::full({}, 0.5), zero = at::zeros({});
  const AffineArgs args{scale, zero, scheme};
  const at::Tensor x = at::tensor({NAN, INFINITY, -INFINITY, -0.1F});
  const at::Tensor y = fake_quantize_ref(x, args);
  EXPECT_TRUE(std::isnan(y[0].item<float>()));
  EXPECT_EQ(y[1].item<float>(), 63.5F);
  EXPECT_EQ(y[2].item<float>(), -64.0F);
  EXPECT_FALSE(std::signbit(y[3].item<float>()));
  EXPECT_TRUE(at::equal(quantize_codes(x, args), at::tensor({0, 127, -128, 0}, at::kInt)));
}

TEST(PlainKernels, OneScaleServesAnyScheme) {
  const Case c;
  const at::Tensor one = at::full({1}, 0.25), zero = at::full({}, 3.0);
  const QScheme whole = QScheme::parse("uint4 affine tensor");
  at::Tensor dx, ds, dz, dx1, ds1, dz1;
  lsq_backward_ref(c.dy, c.x, {one, zero, c.scheme}, dx, ds, dz);
  lsq_backward_ref(c.dy, c.x, {one, zero, whole}, dx1, ds1, dz1);
  EXPECT_TRUE(at::equal(dx, dx1) && at::equal(ds, ds1) && at::equal(dz, dz1));
  EXPECT_EQ(ds.sizes(), one.sizes());
  EXPECT_EQ(dz.sizes(), zero.sizes());
  // Scales per channel, one zero point: its gradient is the sum over all channels.
  lsq_backward_ref(c.dy, c.x, {c.scale, zero, c.scheme}, dx, ds, dz);
  EXPECT_EQ(ds.sizes(), c.scale.sizes());
  EXPECT_EQ(dz.dim(), 0);
}

TEST(PlainKernels, MistakesAreNamed) {
  const Case c;
  const at::Tensor three = at::ones({3}), on_double = c.scale.to(at::kDouble);
  const auto text_of = [&](const at::Tensor& scale) -> std::string {
    try {
      fake_quantize(c.x, {scale, c.zero, c.scheme});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text_of(three), "the scale has 3 entries; the scheme takes 1 or 5");
  EXPECT_EQ(text_of(on_double), "the scale must be float32");
  EXPECT_ERROR(dsq_backward(c.dy, c.x, c.args(), 1.0), "alpha must lie between 0 and 1");
  EXPECT_ERROR(qdrop_forward(c.x, c.args(), 1.5, {}), "probability of QDrop", "not 1.5");
  EXPECT_ERROR(lsq_backward(c.dy.flatten(), c.x, c.args(), *std::make_unique<at::Tensor>(),
                            *std::make_unique<at::Tensor>(), *std::make_unique<at::Tensor>()),
               concat("must have one shape, not ", c.x.sizes()));
}

}  // namespace
}  // namespace quench

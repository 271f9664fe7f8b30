#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

Quantizer with_threshold(const char* scheme, float log2_t, Role role, Options options = {}) {
  Quantizer quantizer(spec_of("tqt", scheme, role, std::move(options)), {});
  quantizer.load({{"scale", at::ones({})},
                  {"zero_point", at::zeros({})},
                  {"log2_t", at::full({}, log2_t)},
                  {"flags", at::tensor({0, 1}, at::kByte)}});
  return quantizer;
}

// D6: the threshold learns, and the mask is that of the step really used.
TEST(Tqt, GradientsEqualTheOracle) {
  for (const char* text : {"int4 symmetric tensor", "uint4 symmetric tensor"}) {
    const QScheme scheme = QScheme::parse(text);
    const at::Tensor x = (sample({3, 4, 5, 6}) * 2).requires_grad_(), dy = sample({3, 4, 5, 6}, 2);
    Quantizer quantizer = with_threshold(text, 1.3F, Role::kWeight);
    const at::Tensor y = quantizer(x);
    y.backward(dy);
    const at::Tensor xd = leaf(x), t = leaf(quantizer.parameters().at("log2_t"));
    const at::Tensor s = at::exp2(straight_through(t, at::ceil(t)) - (scheme.is_signed() ? 3 : 4));
    const at::Tensor v = xd / s, r = at::round(v).detach();
    const at::Tensor above = at::where(r > scheme.qmax(), number(scheme.qmax()), straight_through(v, r));
    const at::Tensor code = at::where(r < scheme.qmin(), number(scheme.qmin()), above);
    (code * s).backward(dy.to(at::kDouble));
    EXPECT_TRUE(at::equal(y.to(at::kDouble), (code * s).detach()));  // powers of two: exact
    expect_close(x.grad(), xd.grad(), 0, "dx");
    expect_close(quantizer.parameters().at("log2_t").grad(), t.grad(), x.numel(), "log2_t");
  }
}

TEST(Tqt, RoundsTiesAsItsTypeSays) {
  const at::Tensor ties = at::tensor({-1.5F, -0.5F, 0.5F, 1.5F, 2.5F, -2.5F});
  EXPECT_TRUE(at::equal(with_threshold("int4 symmetric tensor", 3, Role::kWeight)(ties),
                        at::tensor({-2.0F, 0.0F, 0.0F, 2.0F, 2.0F, -2.0F})));
  EXPECT_TRUE(at::equal(with_threshold("int4 symmetric tensor", 3, Role::kActivation)(ties),
                        at::tensor({-1.0F, 0.0F, 0.0F, 2.0F, 2.0F, -2.0F})));
  EXPECT_ERROR(with_threshold("int4 tensor", 3, Role::kWeight, Options({{"type", "bias"}})),
               "unknown type 'bias' of 'tqt'");
}

TEST(Tqt, RoundsTiesAsItsRoundingSays) {
  const at::Tensor ties = at::tensor({-1.5F, -0.5F, 0.5F, 1.5F, 2.5F, -2.5F});
  const std::pair<const char*, at::Tensor> rows[] = {
      {"half_even", at::tensor({-2.0F, 0.0F, 0.0F, 2.0F, 2.0F, -2.0F})},
      {"half_up_negative", at::tensor({-1.0F, 0.0F, 0.0F, 2.0F, 2.0F, -2.0F})},
      {"half_up", at::tensor({-1.0F, 0.0F, 1.0F, 2.0F, 3.0F, -2.0F})},
      {"half_away", at::tensor({-2.0F, -1.0F, 1.0F, 2.0F, 3.0F, -3.0F})}};
  for (const auto& [rounding, expected] : rows)
    for (const Role role : {Role::kWeight, Role::kActivation})
      EXPECT_TRUE(at::equal(with_threshold("int4 tensor", 3, role, Options({{"rounding", rounding}}))(ties), expected))
          << rounding;
  EXPECT_ERROR(with_threshold("int4 tensor", 3, Role::kWeight, Options({{"rounding", "half"}})),
               "unknown rounding rule 'half'", "half_up");
}

// What the straight-through rule differentiates, with the rounding offsets of x/s and of log2 t frozen: s = 2^(t +
// offset) and y = (x/s + offset) s inside, bound * s outside. Numerically, in double.
TEST(Tqt, GradientOfTheThresholdEqualsFiniteDifferences) {
  const at::Tensor x = sample({3, 4, 5, 6}) * 2, dy = sample({3, 4, 5, 6}, 2), xd = x.to(at::kDouble);
  Quantizer quantizer = with_threshold("int4 symmetric tensor", 1.3F, Role::kWeight);
  quantizer(x).backward(dy);
  const double t = static_cast<double>(1.3F), exponent = std::ceil(t) - t - 3, step = std::exp2(t + exponent);
  const at::Tensor v = xd / step, rounded = at::round(v), bounded = rounded.clamp(-8, 7);
  const auto loss = [&](double at_t) {
    const double s = std::exp2(at_t + exponent);
    const at::Tensor y = at::where(rounded == bounded, (xd / s + (rounded - v)) * s, bounded * s);
    return (y * dy).sum().item<double>();
  };
  const double h = 1e-4, numeric = (loss(t + h) - loss(t - h)) / (2 * h);
  // Float32: dy times the slope, rounded once each; the sum, its two factors. Float64: h^2/6 (ln 2)^2 = 1e-9 relative,
  // and rounding, 2^-53 |loss| / h.
  const at::Tensor slope = at::where(rounded == bounded, rounded - v, bounded);
  const double terms = (slope * dy).abs().sum().item<double>() * step * std::log(2.0);
  const double bound = 0x1p-24 * (terms + 4 * std::abs(numeric)) + 1e-8 * std::abs(numeric) + 1e-9;
  EXPECT_GT(std::abs(numeric), 100 * bound);
  EXPECT_NEAR(quantizer.parameters().at("log2_t").grad().item<double>(), numeric, bound);
}

// MQBench flattens tensors below 2^-15 to zero.
TEST(Tqt, KeepsTinyTensors) {
  const at::Tensor x = sample({100}) * 1e-6F;
  const at::Tensor y = quantizing(spec_of("tqt", "int8 symmetric tensor", Role::kWeight), x)(x);
  // The scale rule's floor of 2^-23 is one step here, so an element is off by half of it at most.
  EXPECT_GT(y.abs().max().item<float>(), 0.0F);
  EXPECT_LE((y - x).abs().max().item<float>(), std::ldexp(1.0F, -24));
}

TEST(Tqt, KeepsToTheSmallestStepOfTheTarget) {
  const at::Tensor y = with_threshold("int8 symmetric tensor", -20, Role::kWeight,
                                      Options({{"least_log2_step", -4.0}}))(at::tensor({0.1F}));
  EXPECT_EQ(y.item<float>(), 0.125F);
}

TEST(Tqt, RefusesAnAffineScheme) {
  EXPECT_ERROR(make_fake_quant(spec_of("tqt", "uint8 affine tensor")), "'tqt'", "needs a symmetric scheme");
}

}  // namespace
}  // namespace quench

#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"

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
  EXPECT_THROW(with_threshold("int4 tensor", 3, Role::kWeight, Options({{"type", "bias"}})), Error);
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

TEST(Tqt, RefusesAnAffineScheme) { EXPECT_THROW(make_fake_quant(spec_of("tqt", "uint8 affine tensor")), Error); }

}  // namespace
}  // namespace quench

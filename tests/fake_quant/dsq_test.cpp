#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor soft_staircase(const at::Tensor& x, double s, double z, const QScheme& scheme, double alpha) {
  const double big = 1 / (1 - alpha), k = std::log((big + 1) / (big - 1));
  const at::Tensor u = at::clamp(x / s + z, scheme.qmin(), scheme.qmax()), base = at::floor(u).detach();
  return (base + 0.5 + 0.5 * big * at::tanh(k * (u - base - 0.5)) - z) * s;
}

TEST(Dsq, GradientsEqualTheOracleAndFiniteDifferences) {
  const QScheme scheme = QScheme::parse("uint4 affine tensor");
  const at::Tensor x = (sample({500}) * 2).requires_grad_(), dy = sample({500}, 2);
  Quantizer quantizer(spec_of("dsq", "uint4 affine tensor"), {});
  quantizer.load(
      {{"scale", at::full({}, 0.3F)}, {"zero_point", at::full({}, 7.0F)}, {"flags", at::tensor({0, 1}, at::kByte)}});
  const at::Tensor y = quantizer(x);
  y.backward(dy);
  const double s = static_cast<double>(0.3F), h = 1e-7;
  const at::Tensor xd = leaf(x), soft = soft_staircase(xd, s, 7, scheme, 0.4);
  soft.backward(dy.to(at::kDouble));
  // Inside, |v| <= 8, and the reciprocal and the product round once each: a fraction is good to 2 * 8 * 2^-24 = 1e-6.
  // The slope changes by less than S K^2 = 3.2 per step, and dy is below 4: 1.3e-5. The slope itself, at most S K / 2 =
  // 1.2, is good to ten roundings (exp to 2 ulp): 1.2 * 4 * 10 * 2^-24 = 3e-6. Next to an integer or an end the two
  // may be on different sides.
  const at::Tensor steps = (xd / s + 7).detach();
  const at::Tensor clear = (steps - at::round(steps)).abs() > 1e-5;
  const at::Tensor difference = (x.grad().to(at::kDouble) - xd.grad()).abs().masked_select(clear);
  constexpr double kBound = 1.6e-5;
  EXPECT_LE(difference.max().item<double>(), kBound);
  const at::Tensor ahead = soft_staircase(xd + h, s, 7, scheme, 0.4),
                   behind = soft_staircase(xd - h, s, 7, scheme, 0.4);
  const at::Tensor numeric = ((ahead - behind) / (2 * h) * dy - x.grad()).abs().masked_select(clear);
  // The differences of values below 8 in float64: 4 * 8 * 4 * 2^-53 / (2 h) = 7e-8; the third derivative adds h^2.
  EXPECT_LE(numeric.max().item<double>(), kBound + 1e-7);
  // y is a step, |step| <= 8, times s, rounded once.
  EXPECT_LE((y.to(at::kDouble) / s - at::round(soft / s)).abs().max().item<double>(), 8 * 0x1p-24);
}

// D7: the observe flag decides, not the training mode.
TEST(Dsq, KeepsItsScaleUnlessItObserves) {
  Quantizer quantizer = quantizing(spec_of("dsq", "int8 symmetric tensor"), sample({100}));
  const float scale = quantizer.tensors().scale().item<float>();
  quantizer(sample({100}) * 10);
  EXPECT_EQ(quantizer.tensors().scale().item<float>(), scale);
}

TEST(Dsq, RefusesAnAlphaOutsideItsRange) {
  for (const double alpha : {0.0, 1.0, -1.0, 2.0})
    EXPECT_ERROR(make_fake_quant(spec_of("dsq", "int8 tensor", Role::kActivation, Options({{"alpha", alpha}}))),
                 "alpha of DSQ", "between 0 and 1");
}

}  // namespace
}  // namespace quench

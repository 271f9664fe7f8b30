#include "fake_quant/adaround.h"

#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// The quantizer of a weight in a mode, with alpha as given.
Quantizer in_mode(const char* mode, const at::Tensor& weight, const char* scheme, const at::Tensor& alpha) {
  Quantizer nearest = quantizing(spec_of("adaround", scheme, Role::kWeight), weight);
  auto state = nearest.state();
  state["alpha"] = alpha;
  Quantizer quantizer(spec_of("adaround", scheme, Role::kWeight, Options({{"mode", mode}})), weight.sizes().vec(),
                      make_observer("min_max", QScheme::parse(scheme)));
  quantizer.load(state);
  return quantizer;
}

at::Tensor initial(const at::Tensor& weight, const char* scheme) {
  const QScheme parsed = QScheme::parse(scheme);
  const Quantizer nearest = quantizing(spec_of("adaround", scheme, Role::kWeight), weight);
  return adaround_initial(weight, {nearest.tensors().scale(), nearest.tensors().zero_point(), parsed});
}

TEST(AdaRound, GradientsEqualTheOracleAndFiniteDifferences) {
  const char* text = "int4 symmetric channel:0";
  const at::Tensor w = sample({6, 5, 3, 3}), dy = sample({6, 5, 3, 3}, 2);
  Quantizer soft = in_mode("soft", w, text, initial(w, text) + sample({6, 5, 3, 3}, 3) * 2);
  const at::Tensor y = soft(w);
  y.backward(dy);
  const at::Tensor scale = soft.tensors().scale().detach();
  const at::Tensor s = scale.to(at::kDouble).reshape({6, 1, 1, 1});
  const at::Tensor floors = at::floor(w * (1 / scale).reshape({6, 1, 1, 1})).to(at::kDouble);
  const auto forward = [&](const at::Tensor& a) {
    return at::clamp(floors + at::clamp(at::sigmoid(a) * 1.2 - 0.1, 0, 1), -8, 7) * s;
  };
  const at::Tensor learned = soft.parameters().at("alpha"), alpha = leaf(learned), oracle = forward(alpha);
  oracle.backward(dy.to(at::kDouble));
  // In steps: sigma to 8 roundings, h to two more, a sum below 8 rounded once, times s once: (10 + 8 + 8) * 2^-24.
  EXPECT_LE(((y.to(at::kDouble) - oracle) / s).abs().max().item<double>(), 26 * 0x1p-24);
  expect_close(learned.grad(), alpha.grad(), 0, "alpha");
  // Both clamps have their kinks where h is 0 or 1, and h changes by less than 0.3 per alpha. In float64 the
  // differences of values below 8 s are good to 8 * 4 * 2^-53 / (2 step) = 2e-9, far below what float32 is.
  const double step = 1e-6;
  const at::Tensor open = (at::sigmoid(alpha) * 1.2 - 0.1).detach();
  const at::Tensor clear = (open.abs() > step) & ((open - 1).abs() > step);
  EXPECT_GT(clear.sum().item<int>(), 260);  // of 270
  const at::Tensor numeric = ((forward(alpha + step) - forward(alpha - step)) / (2 * step) * dy).detach();
  expect_close(learned.grad().masked_select(clear), numeric.masked_select(clear), 0, "finite differences");
}

TEST(AdaRound, BeginsAtTheWeight) {
  const char* text = "int8 symmetric channel:0";
  const at::Tensor w = sample({6, 5, 3, 3}) * 0.4F;
  Quantizer soft = in_mode("soft", w, text, initial(w, text));
  const at::Tensor s = soft.tensors().scale().detach().to(at::kDouble).reshape({6, 1, 1, 1});
  const at::Tensor steps = w.to(at::kDouble) / s, error = (soft(w).detach().to(at::kDouble) / s - steps).abs();
  // Four roundings of numbers below 128: the reciprocal, the quotient, floor + h, the product with s. h itself comes
  // back from alpha within 1e-6: the logarithm's argument loses 4 bits at most, dh/dalpha is below 0.3.
  constexpr double kBound = 4 * 128 * 0x1p-24 + 1e-6;
  const at::Tensor clamped = steps > 127;  // the end +a, by half a step: docs/numerics.md 3
  EXPECT_LE(error.masked_select(~clamped).max().item<double>(), kBound);
  EXPECT_LE(error.max().item<double>(), 0.5 + kBound);
}

TEST(AdaRound, EndsAtFloorOrCeil) {
  const at::Tensor w = sample({6, 5, 3, 3}) * 0.4F, alpha = sample({6, 5, 3, 3}, 4);
  Quantizer hard = in_mode("hard", w, "int8 symmetric channel:0", alpha);
  const at::Tensor s = hard.tensors().scale().detach().reshape({6, 1, 1, 1});
  const at::Tensor codes = at::round(hard(w) / s), below = at::floor(w * (1 / s));
  EXPECT_TRUE(at::equal(codes, (below + (alpha >= 0)).clamp(-128, 127)));
}

TEST(AdaRound, RefusesAnUnknownMode) {
  EXPECT_ERROR(make_fake_quant(spec_of("adaround", "int8 tensor", Role::kWeight, Options({{"mode", "x"}}))),
               "unknown mode 'x' of 'adaround'", "hard, nearest, soft");
}

}  // namespace
}  // namespace quench

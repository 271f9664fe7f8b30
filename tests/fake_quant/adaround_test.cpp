#include "fake_quant/adaround.h"

#include <gtest/gtest.h>

#include "fake_quant/oracle.h"
#include "fake_quant/samples.h"

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
  EXPECT_LE((y.to(at::kDouble) - oracle).abs().max().item<double>(), 1e-5);
  expect_close(learned.grad(), alpha.grad(), 0, "alpha");
  const double h = 1e-6;
  const at::Tensor numeric = (forward(alpha + h) - forward(alpha - h)) / (2 * h) * dy;
  EXPECT_LE((numeric - learned.grad()).abs().quantile(0.99).item<double>(), 1e-4);  // 1 %: kinks of the clamps
}

TEST(AdaRound, BeginsAtTheWeight) {
  const char* text = "int8 symmetric channel:0";
  const at::Tensor w = sample({6, 5, 3, 3}) * 0.4F;
  Quantizer soft = in_mode("soft", w, text, initial(w, text));
  const at::Tensor error = ((soft(w).detach() - w) / soft.tensors().scale().detach().reshape({6, 1, 1, 1})).abs();
  EXPECT_LE(error.max().item<float>(), 0.5F + 1e-3F);  // the end +a is clamped by half a step: numerics 3
  EXPECT_LE(error.median().item<float>(), 1e-4F);
}

TEST(AdaRound, EndsAtFloorOrCeil) {
  const at::Tensor w = sample({6, 5, 3, 3}) * 0.4F, alpha = sample({6, 5, 3, 3}, 4);
  Quantizer hard = in_mode("hard", w, "int8 symmetric channel:0", alpha);
  const at::Tensor s = hard.tensors().scale().detach().reshape({6, 1, 1, 1});
  const at::Tensor codes = at::round(hard(w) / s), below = at::floor(w * (1 / s));
  EXPECT_TRUE(at::equal(codes, (below + (alpha >= 0)).clamp(-128, 127)));
}

TEST(AdaRound, RefusesAnUnknownMode) {
  EXPECT_THROW(make_fake_quant(spec_of("adaround", "int8 tensor", Role::kWeight, Options({{"mode", "x"}}))), Error);
}

}  // namespace
}  // namespace quench

#include <gtest/gtest.h>

#include <cmath>

#include "fake_quant/samples.h"

namespace quench {
namespace {

// numerics 5.9 for one element, in double.
double logarithmic(double x, double data_max) {
  const double c = std::nearbyint(16 * std::log2(data_max)) - 127;
  if (x > std::exp2((c - 16) / 16))
    return std::exp2((std::clamp(std::nearbyint(16 * std::log2(x) - c), 0.0, 127.0) + c) / 16);
  if (x < -std::exp2((c - 15) / 16))
    return -std::exp2((std::clamp(std::nearbyint(16 * std::log2(-x) - c), 1.0, 127.0) + c) / 16);
  return 0;
}

TEST(Nnie, EqualsTheFormula) {
  const at::Tensor x = sample({1000}) * at::exp2(at::randint(-12, 3, {1000})).to(at::kFloat);
  Quantizer quantizer = quantizing(spec_of("nnie", "log8 tensor"), x);
  const double data_max = quantizer.tensors().scale().item<double>();
  EXPECT_EQ(data_max, x.abs().max().item<double>());
  const at::Tensor y = quantizer(x);
  for (int i = 0; i < 1000; ++i) {
    const double expected = logarithmic(x[i].item<double>(), data_max);
    EXPECT_NEAR(y[i].item<double>(), expected, std::abs(expected) * 1e-7) << x[i].item<double>();
  }
}

TEST(Nnie, GivesZeroAtBothThresholds) {
  Quantizer quantizer = quantizing(spec_of("nnie", "log8 tensor"), at::tensor({1.0F}));  // c = -127
  const float positive = std::exp2(-143.0F / 16), negative = -std::exp2(-142.0F / 16);
  const at::Tensor y = quantizer(at::tensor({positive * 0.999F, negative * 0.999F, positive * 1.001F}));
  EXPECT_EQ(y[0].item<float>(), 0.0F);
  EXPECT_EQ(y[1].item<float>(), 0.0F);
  EXPECT_GT(y[2].item<float>(), 0.0F);
}

TEST(Nnie, LetsEveryGradientPass) {
  const at::Tensor x = (sample({50}) * 100).requires_grad_(), dy = sample({50}, 2);
  Quantizer quantizer = quantizing(spec_of("nnie", "log8 tensor"), at::tensor({1.0F}));
  quantizer(x).backward(dy);
  EXPECT_TRUE(at::equal(x.grad(), dy));
}

}  // namespace
}  // namespace quench

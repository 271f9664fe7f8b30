#include <gtest/gtest.h>

#include <cmath>

#include "fake_quant/samples.h"
#include "quant/reference.h"

namespace quench {
namespace {

// docs/numerics.md 5.9 for one element, in double.
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

// The format has one definition, quant/log8.h; this one computes with tensors. Both are in float64, where a
// logarithm that differs in its last bit moves a code with a chance of 1e-13.
TEST(Nnie, EqualsTheReference) {
  at::manual_seed(3);
  for (const float data_max : {1.0F, 0.37F, 5e-5F, 812.0F, 3e30F}) {
    const at::Tensor many = at::randn({20000}) * at::exp2(at::rand({20000}) * 20 - 17) * data_max;
    const at::Tensor x = at::cat({many, at::tensor({0.0F, -0.0F, INFINITY, -INFINITY, 1e-38F})});
    Quantizer quantizer = quantizing(spec_of("nnie", "log8 tensor"), at::tensor({data_max}));
    const QType type{QScheme::parse("log8 tensor"), {{quantizer.tensors().scale().item<float>()}, {0}}};
    const at::Tensor y = quantizer(x);
    EXPECT_TRUE(at::equal(y, fake_quantize_reference(x, type))) << data_max;
    EXPECT_GT(std::get<0>(at::_unique(y)).numel(), 200) << data_max;
  }
}

// Thresholds that are powers of two, so that float32 holds them: 2^((c - 16)/16) and -2^((c - 15)/16) with
// c = round(16 log2 data_max) - 127. The threshold itself is zero, the next float the smallest magnitude.
TEST(Nnie, GivesZeroAtBothThresholds) {
  const float at_positive = std::ldexp(1.0F, -9), at_negative = -at_positive;
  Quantizer positive = quantizing(spec_of("nnie", "log8 tensor"), at::tensor({std::exp2(-1.0F / 16)}));  // c = -128
  const at::Tensor above = positive(at::tensor({at_positive, std::nextafter(at_positive, 1.0F)}));
  EXPECT_EQ(above[0].item<float>(), 0.0F);
  EXPECT_EQ(above[1].item<float>(), std::ldexp(1.0F, -8));
  Quantizer negative = quantizing(spec_of("nnie", "log8 tensor"), at::tensor({std::exp2(-2.0F / 16)}));  // c = -129
  const at::Tensor below = negative(at::tensor({at_negative, std::nextafter(at_negative, -1.0F)}));
  EXPECT_EQ(below[0].item<float>(), 0.0F);
  EXPECT_EQ(below[1].item<float>(), -std::ldexp(1.0F, -8));
}

TEST(Nnie, LetsEveryGradientPass) {
  const at::Tensor x = (sample({50}) * 100).requires_grad_(), dy = sample({50}, 2);
  Quantizer quantizer = quantizing(spec_of("nnie", "log8 tensor"), at::tensor({1.0F}));
  quantizer(x).backward(dy);
  EXPECT_TRUE(at::equal(x.grad(), dy));
}

}  // namespace
}  // namespace quench

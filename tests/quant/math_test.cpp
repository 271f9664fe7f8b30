#include "quant/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quench {
namespace {

double ulps(float got, double exact) {
  const auto near = static_cast<float>(exact);
  return std::abs(static_cast<double>(got) - exact) /
         (static_cast<double>(std::nextafter(near, INFINITY)) - static_cast<double>(near));
}

TEST(Math, ExpIsWithinTwoUlp) {
  double worst = 0.0;
  for (double x = -87.0; x <= 88.0; x += 0.00037) {
    const auto at = static_cast<float>(x);
    worst = std::max(worst, ulps(exp_approx(at), std::exp(static_cast<double>(at))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(exp_approx(0.0F), 1.0F);
  EXPECT_EQ(exp_approx(-1000.0F), exp_approx(-87.0F));
  EXPECT_EQ(exp_approx(INFINITY), exp_approx(88.0F));
  EXPECT_TRUE(std::isnan(exp_approx(NAN)));
}

// exp (2 ulp), a sum and a division (half an ulp each): below 4.
TEST(Math, SigmoidIsWithinFourUlp) {
  for (double x = -80.0; x <= 80.0; x += 0.0031) {
    const auto at = static_cast<float>(x);
    EXPECT_LT(ulps(sigmoid(at), 1.0 / (1.0 + std::exp(-static_cast<double>(at)))), 4.0) << at;
  }
  EXPECT_EQ(sigmoid(0.0F), 0.5F);
  EXPECT_EQ(sigmoid(INFINITY), 1.0F);
  EXPECT_TRUE(std::isnan(sigmoid(NAN)));
}

// exp twice over (numerator and squared denominator), a product and a division: below 8.
TEST(Math, TanhSlopeIsWithinEightUlpWithoutCancellation) {
  for (double x = -40.0; x <= 40.0; x += 0.0017) {
    const auto at = static_cast<float>(x);
    const double cosh = std::cosh(static_cast<double>(at));
    EXPECT_LT(ulps(tanh_slope(at), 1.0 / (cosh * cosh)), 8.0) << at;
  }
  EXPECT_EQ(tanh_slope(0.0F), 1.0F);
}

}  // namespace
}  // namespace quench

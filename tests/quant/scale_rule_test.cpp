#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "quench/error.h"
#include "quench/quant.h"
#include "support/expect_error.h"

namespace quench {
namespace {

QParams of(const char* scheme, float min, float max) { return qparams_of_range(QScheme::parse(scheme), {min}, {max}); }

TEST(ScaleRule, SymmetricDividesByHalfTheWidth) {
  EXPECT_EQ(of("int8 symmetric tensor", -1.0F, 2.0F).scale[0], 2.0F / 127.5F);
  EXPECT_EQ(of("int8 symmetric tensor narrow", -2.0F, 1.0F).scale[0], 2.0F / 127.0F);
  EXPECT_EQ(of("int4 symmetric tensor", -2.0F, 1.0F).scale[0], 2.0F / 7.5F);
  EXPECT_EQ(of("int8 symmetric tensor", -1.0F, 2.0F).zero_point[0], 0);
}

// D8, D10: an unsigned symmetric range uses all its codes.
TEST(ScaleRule, UnsignedSymmetricUsesAllCodes) {
  const QParams params = of("uint8 symmetric tensor", 0.0F, 2.0F);
  EXPECT_EQ(params.scale[0], 2.0F / 255.0F);
  EXPECT_EQ(params.zero_point[0], 0);
}

TEST(ScaleRule, AffineHoldsZero) {
  const QParams below = of("uint8 affine tensor", -3.0F, -1.0F);
  EXPECT_EQ(below.scale[0], 3.0F / 255.0F);
  EXPECT_EQ(below.zero_point[0], 255);
  const QParams above = of("int8 affine tensor", 1.0F, 3.0F);
  EXPECT_EQ(above.scale[0], 3.0F / 255.0F);
  EXPECT_EQ(above.zero_point[0], -128);
}

TEST(ScaleRule, RoundsToAPowerOfTwoBeforeTheZeroPoint) {
  const QParams params = of("uint8 affine tensor pot", -1.0F, 3.0F);  // 4/255: 2^-5.99
  EXPECT_EQ(params.scale[0], std::ldexp(1.0F, -6));
  EXPECT_EQ(params.zero_point[0], 64);
}

TEST(ScaleRule, PowersOfTwoAreThoseOfTheLogarithm) {
  for (float scale = 1e-6F; scale < 1e6F; scale *= 1.0137F)
    EXPECT_EQ(qparams_of_scale(QScheme::parse("int8 tensor pot"), {scale}, {0.0F}).scale[0],
              static_cast<float>(std::exp2(std::round(std::log2(static_cast<double>(scale))))))
        << scale;
}

TEST(ScaleRule, HasAFloor) { EXPECT_EQ(of("int8 symmetric tensor", 0.0F, 0.0F).scale[0], std::ldexp(1.0F, -23)); }

TEST(ScaleRule, Fp8ReachesItsLargestValue) {
  EXPECT_EQ(of("e4m3fn tensor", -1.0F, 2.0F).scale[0], 2.0F / 448.0F);
  EXPECT_EQ(of("e5m2 tensor", -4.0F, 2.0F).scale[0], 4.0F / 57344.0F);
}

TEST(ScaleRule, RefusesWhatWasNeverObserved) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_ERROR(of("int8 tensor", kInf, -kInf), "never observed");
  EXPECT_ERROR(of("int8 tensor", 0.0F, kInf), "0 to inf", "must be finite");
  EXPECT_ERROR(of("int8 tensor", std::nanf(""), 1.0F), "nan to 1", "must be finite");
  EXPECT_ERROR(qparams_of_range(QScheme(), {1.0F}, {}), "as many minima as maxima, not 1 and 0");
}

// The difference of the ends does not fit float32, the scale does.
TEST(ScaleRule, HoldsHugeRanges) {
  const QParams params = of("uint8 affine tensor", -3e38F, 3e38F);
  EXPECT_EQ(params.scale[0], 3e38F / 255.0F + 3e38F / 255.0F);
  EXPECT_EQ(params.zero_point[0], 128);  // 127.5 steps below, to even
  EXPECT_EQ(of("int8 symmetric tensor", -3e38F, 3e38F).scale[0], 3e38F / 127.5F);
  EXPECT_EQ(of("uint8 affine tensor", -1e38F, 1e38F).scale[0], 2e38F / 255.0F);
}

TEST(ScaleRule, RefusesARangeWithoutAFiniteScale) {
  EXPECT_ERROR(of("int1 symmetric tensor", -3e38F, 3e38F), "-3e+38 to 3e+38", "does not fit float32");
  EXPECT_ERROR(of("uint1 affine tensor", -3e38F, 3e38F), "-3e+38 to 3e+38", "does not fit float32");
  EXPECT_ERROR(of("uint1 symmetric tensor pot", 0.0F, 3e38F), "0 to 3e+38", "does not fit float32");  // 2^128
  EXPECT_TRUE(std::isfinite(of("int1 symmetric tensor", -1.7e38F, 1.7e38F).scale[0]));
}

TEST(ScaleRule, RefusesAGivenScaleThatIsNone) {
  const QScheme scheme = QScheme::parse("int8 tensor");
  EXPECT_ERROR(qparams_of_scale(scheme, {-1.0F}, {0.0F}), "the scale is -1", "must not be negative");
  EXPECT_ERROR(qparams_of_scale(scheme, {std::nanf("")}, {0.0F}), "the scale is nan", "must be finite");
  EXPECT_ERROR(qparams_of_scale(QScheme::parse("int8 tensor pot"), {3e38F}, {0.0F}), "the scale is 3e+38",
               "does not fit float32");
  EXPECT_EQ(qparams_of_scale(scheme, {0.0F}, {0.0F}).scale[0], std::ldexp(1.0F, -23));
}

}  // namespace
}  // namespace quench

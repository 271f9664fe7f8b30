#include "quant/requantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "quant/integer_cases.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using Wide = __int128;

TEST(FixedPoint, HoldsPowersOfTwoExactly) {
  for (int k = -32; k < 30; ++k) {
    const FixedPoint m = fixed_point(std::ldexp(1.0, k));
    EXPECT_EQ(m.mantissa, 1 << 30) << k;
    EXPECT_EQ(m.shift, 30 - k);
  }
}

TEST(FixedPoint, IsTheNearestMultiplierOfItsWidth) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-31.9, 29.9);
  for (int i = 0; i < 20000; ++i)
    for (const int bits : {8, 16, 31}) {
      const double multiplier = std::exp2(exponent(random));
      const FixedPoint m = fixed_point(multiplier, bits);
      ASSERT_GE(m.mantissa, std::int64_t{1} << (bits - 1));
      ASSERT_LT(m.mantissa, std::int64_t{1} << bits);
      // Half a unit of the last place of the mantissa.
      ASSERT_LE(std::fabs(std::ldexp(m.mantissa, -m.shift) - multiplier), std::ldexp(0.5, -m.shift)) << multiplier;
    }
}

// f * 2^31 rounds to 2^31, which a Q31 number cannot hold.
TEST(FixedPoint, CarriesIntoTheExponent) {
  const FixedPoint m = fixed_point(std::nextafter(1.0, 0.0));
  EXPECT_EQ(m.mantissa, 1 << 30);
  EXPECT_EQ(m.shift, 30);
}

TEST(FixedPoint, TakesTinyForZeroAndRefusesHuge) {
  EXPECT_EQ(fixed_point(0.0).mantissa, 0);
  EXPECT_EQ(fixed_point(std::ldexp(0.99, -32)).mantissa, 0);
  EXPECT_EQ(fixed_point(1e-300).mantissa, 0);
  EXPECT_NE(fixed_point(std::ldexp(1.0, -32)).mantissa, 0);
  EXPECT_ERROR(fixed_point(std::ldexp(1.0, 30)), "too large for fixed point");
  EXPECT_ERROR(fixed_point(-1.0), "multiplier", "not negative, not -1");
  EXPECT_ERROR(fixed_point(std::nan("")), "multiplier", "finite", "not nan");
  EXPECT_ERROR(fixed_point(0.5, 32), "2 to 31 bits, not 32");
}

OutputCodes codes_of(std::int32_t zero_point, std::int32_t low = -128, std::int32_t high = 127) {
  return {1.0F, zero_point, low, high};
}

// Accumulators at half steps: M = 1/2.
TEST(Requantize, TiesFallAsTheRuleSays) {
  const std::vector<std::int64_t> odd = {-5, -3, -1, 1, 3, 5};  // -2.5 ... 2.5
  struct Row {
    Requantize rule;
    std::int32_t zero_point;
    std::vector<std::int32_t> codes;  // less the zero point
  };
  const Row rows[] = {
      {Requantize::kMlas, 0, {-2, -2, 0, 0, 2, 2}},   {Requantize::kMlas, 1, {-2, -2, 0, 0, 2, 2}},
      {Requantize::kTflite, 0, {-2, -1, 0, 1, 2, 3}},  // no right shift: the high multiply alone, ties up
      {Requantize::kHalfUp, 0, {-2, -1, 0, 1, 2, 3}}, {Requantize::kHalfUp, 1, {-2, -1, 0, 1, 2, 3}},
      {Requantize::kAway, 0, {-3, -2, -1, 1, 2, 3}},  {Requantize::kAway, 1, {-3, -2, -1, 1, 2, 3}},
      {Requantize::kAffine, 0, {-2, -2, 0, 0, 2, 2}}, {Requantize::kAffine, 1, {-3, -1, -1, 1, 1, 3}},
      {Requantize::kFloat, 0, {-2, -2, 0, 0, 2, 2}},  {Requantize::kFloat, 1, {-2, -2, 0, 0, 2, 2}}};
  for (const Row& row : rows) {
    const Requantizer requantizer({row.rule}, {0.5F, {1.0F}, 1}, codes_of(row.zero_point));
    for (std::size_t i = 0; i < odd.size(); ++i)
      EXPECT_EQ(requantizer(odd[i]) - row.zero_point, row.codes[i]) << name_of(row.rule) << " " << odd[i];
  }
}

// M = 1/4 is 2^30 * 2^-32: a halving with ties up, then one with ties away. 1/4 and -1/4 of ... worked by hand:
// 2 -> 1 -> 1/2 -> 1; 1 -> 1/2 -> 1 -> 1/2 -> 1 (rounded twice: 0.25 becomes 1); -1 -> 0 -> 0; -2 -> -1 -> -1.
TEST(Requantize, TfliteRoundsTwice) {
  const Requantizer requantizer({Requantize::kTflite}, {0.25F, {1.0F}, 1}, codes_of(0));
  const std::pair<int, int> rows[] = {{0, 0},  {1, 1},   {2, 1},   {3, 1},   {4, 1},  {5, 2},
                                      {-1, 0}, {-2, -1}, {-3, -1}, {-6, -2}, {-7, -2}};
  for (const auto& [accumulator, code] : rows) EXPECT_EQ(requantizer(accumulator), code) << accumulator;
  const Requantizer once({Requantize::kHalfUp}, {0.25F, {1.0F}, 1}, codes_of(0));
  EXPECT_EQ(once(1), 0);
  EXPECT_EQ(once(2), 1);
  EXPECT_EQ(once(-2), 0);
}

// gemmlowp's own code, in its own words.
std::int32_t gemmlowp(std::int32_t x, std::int32_t multiplier, int right_shift) {
  const std::int64_t product = std::int64_t{x} * multiplier;
  const std::int32_t nudge = product >= 0 ? (1 << 30) : (1 - (1 << 30));
  const auto high = static_cast<std::int32_t>((product + nudge) / (std::int64_t{1} << 31));
  const auto mask = static_cast<std::int32_t>((std::int64_t{1} << right_shift) - 1);
  const std::int32_t remainder = high & mask, threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return (high >> right_shift) + (remainder > threshold ? 1 : 0);
}

TEST(Requantize, TfliteIsGemmlowps) {
  std::mt19937 random(2);
  for (int i = 0; i < 200000; ++i) {
    const auto x = static_cast<std::int32_t>(random()) >> (random() % 24);
    const auto mantissa = static_cast<std::int32_t>((random() >> 2) | (1U << 30));
    const int right = static_cast<int>(random() % 31);
    ASSERT_EQ(multiply_tflite(x, {mantissa, 31 + right}), gemmlowp(x, mantissa, right)) << x << " " << mantissa;
  }
  EXPECT_EQ(multiply_tflite(3, fixed_point(5.0)), 15);                  // a left shift of 3
  EXPECT_EQ(multiply_tflite(1 << 30, fixed_point(1024.0)), (1 << 30));  // saturates before the halving
  EXPECT_EQ(multiply_tflite(123456, fixed_point(0.0)), 0);
}

// floor(acc * m0 / 2^r + 1/2) in 128 bits.
TEST(Requantize, HalfUpRoundsOnce) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(-31.5, 4.0);
  for (int i = 0; i < 100000; ++i) {
    const int bits = i % 2 == 0 ? 31 : 12;
    const float scale = static_cast<float>(std::exp2(exponent(random)));
    const auto x = static_cast<std::int32_t>(random()) >> (random() % 31);
    const FixedPoint m = fixed_point(scale, bits);
    const Wide doubled = 2 * Wide{x} * m.mantissa + (Wide{1} << m.shift);
    const auto expected = static_cast<std::int64_t>(doubled >> (m.shift + 1));
    const OutputCodes y = codes_of(7, -30000, 30000);
    ASSERT_EQ(Requantizer({Requantize::kHalfUp, bits}, {scale, {1.0F}, 1}, y)(x), y.clamp(expected + 7)) << x;
  }
}

// tflite rounds first to steps of 2^-right before the last rounding: half such a step moves a tie.
long double tflite_step(float a, float b, float s) {
  return ldexpl(1.0L, -std::max(fixed_point(static_cast<double>(a) * b / s).shift - 31, 0));
}

// The float rules against the exact product in long double (64 bits of mantissa hold 31 + 24 of them): equal but
// within the rule's own float32 error of a tie. The multiplier has two roundings (one in kFloat, but also the
// division), the accumulator one, the product one, a sum with z one: at most 5 * 2^-24 relative to |v| + |z|.
TEST(Requantize, EveryRuleIsNearTheExactProduct) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> scale(0.001F, 0.1F);
  int near = 0, total = 0;  // of the rules that round once
  for (int i = 0; i < 30000; ++i) {
    const float a = scale(random), b = scale(random), s = scale(random);
    const std::int32_t z = static_cast<std::int32_t>(random() % 256) - 128;
    const auto span = static_cast<std::int64_t>(300.0 * s / (a * b));
    const auto x = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * span + 1)) - span;
    const long double exact = static_cast<long double>(x) * a * b / s;
    const OutputCodes y{s, z, -128, 127};
    const long double distance = fabsl(exact - floorl(exact) - 0.5L), slack = (fabsl(exact) + 128) * 5 * 0x1p-24L;
    const std::int64_t expected = y.clamp(static_cast<std::int64_t>(floorl(exact + 0.5L)) + z);
    for (const Requantize rule : kAllRules) {
      const std::int32_t code = Requantizer({rule}, {a, {b}, 1}, y)(x);
      const long double reach = rule == Requantize::kTflite ? slack + 0.5L * tflite_step(a, b, s) : slack;
      const int counts = rule == Requantize::kTflite ? 0 : 1;
      total += counts;
      if (distance <= reach) {
        near += counts;
        ASSERT_LE(std::abs(code - expected), 1) << name_of(rule);
      } else {
        ASSERT_EQ(code, expected) << name_of(rule) << " " << static_cast<double>(exact);
      }
    }
  }
  EXPECT_LT(near, total / 1000);
}

TEST(Requantize, HasAMultiplierAChannelAndACount) {
  for (const Requantize rule : kAllRules) {
    const Requantizer requantizer({rule}, {0.5F, {1.0F, 2.0F, 8.0F}, 4}, codes_of(3));
    EXPECT_EQ(requantizer(64, 0), 8 + 3) << name_of(rule);
    EXPECT_EQ(requantizer(64, 1), 16 + 3);
    EXPECT_EQ(requantizer(64, 2), 64 + 3);
  }
}

TEST(Requantize, SaturatesFarOutOfRange) {
  for (const Requantize rule : kAllRules) {
    const Requantizer requantizer({rule}, {1e3F, {1e3F}, 1}, codes_of(0));
    EXPECT_EQ(requantizer(2147483647), 127) << name_of(rule);
    EXPECT_EQ(requantizer(-2147483647), -128);
  }
}

TEST(OutputCodes, ClipAsTheValuesWouldBe) {
  const QType type{QScheme::parse("uint8 affine tensor"), {{0.05F}, {20}}};
  const OutputCodes relu6 = output_codes(type, {}, {0.0F, 6.0F});
  EXPECT_EQ(relu6.low, 20);
  EXPECT_EQ(relu6.high, 140);
  EXPECT_EQ(output_codes(type, {}).low, 0);
  EXPECT_EQ(output_codes(type, {}).high, 255);
  EXPECT_EQ(output_codes(type, {}, {-100.0F, 100.0F}).high, 255);
  EXPECT_ERROR(output_codes(type, {}, {3.0F, 1.0F}), "clip to 3 ... 1", "lower bound");
}

TEST(OutputCodes, AwayKeepsTheLeastCodeOut) {
  const QType type{QScheme::parse("int8 tensor"), {{0.05F}, {0}}};
  EXPECT_EQ(output_codes(type, {Requantize::kAway}).low, -127);
  EXPECT_EQ(output_codes(type, {Requantize::kMlas}).low, -128);
  EXPECT_EQ(output_codes(type, {Requantize::kAway}, {-INFINITY, 1.0F}).low, -127);
}

TEST(OutputCodes, ArePerTensorIntegers) {
  EXPECT_ERROR(output_codes({QScheme::parse("int8 channel:0"), {{1.0F}, {0}}}, {}), "'int8 symmetric channel:0'",
               "per tensor");
  EXPECT_ERROR(output_codes({QScheme::parse("e4m3fn tensor"), {{1.0F}, {0}}}, {}), "'e4m3fn tensor'", "integer scheme");
}

TEST(OutputCodes, NeedAPositiveFiniteScaleAndAClipOfNumbers) {
  const QScheme scheme = QScheme::parse("int8 tensor");
  for (const float scale : {0.0F, -1.0F, NAN, INFINITY})
    EXPECT_ERROR(output_codes({scheme, {{scale}, {0}}}, {}), "scale must be positive", concat("not ", scale));
  EXPECT_ERROR(output_codes({scheme, {{1.0F}, {0}}}, {}, {NAN, 1.0F}), "clip to nan ... 1", "must be numbers");
  EXPECT_ERROR(output_codes({scheme, {{1.0F}, {0}}}, {}, {0.0F, NAN}), "clip to 0 ... nan", "must be numbers");
}

// 0 * inf is not a number of steps.
TEST(Requantize, RefusesAMultiplierThatOverflows) {
  for (const Requantize rule : kAllRules)
    EXPECT_ERROR(Requantizer({rule}, {1e30F, {1e30F}, 1}, codes_of(0)), "multiplier 1e+30 * 1e+30",
                 "does not fit float32")
        << name_of(rule);
  EXPECT_EQ(codes_of(3).nearest(NAN), 3);
}

TEST(Requantize, NamesAreReadBack) {
  for (const Requantize rule : kAllRules) EXPECT_EQ(requantize_from_name(name_of(rule)), rule);
  EXPECT_ERROR(requantize_from_name("mlass"), "unknown requantization rule 'mlass'", "did you mean 'mlas'");
}

}  // namespace
}  // namespace quench

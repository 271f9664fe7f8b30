#include <gtest/gtest.h>

#include <cmath>

#include "quant/integer_cases.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

double real_of(std::int64_t code, const QType& type) {
  return static_cast<double>(code - type.params.zero_point[0]) * type.params.scale[0];
}

// All pairs of codes: a varies along columns, b along rows.
struct Pairs {
  at::Tensor a = at::arange(256).view({1, 256}).to(at::kByte), b = at::arange(256).view({256, 1}).to(at::kByte);
};

// Codes against the exact real result: equal but within `reach` steps of a tie, and there off by one at most.
template <typename Real>
void expect_codes(const at::Tensor& codes, const OutputCodes& y, double reach, const char* rule, Real&& real) {
  ASSERT_EQ(codes.sizes(), at::IntArrayRef({256, 256}));
  const at::Tensor wide = codes.to(at::kInt).contiguous();
  int near = 0;
  for (int b = 0; b < 256; ++b)
    for (int a = 0; a < 256; ++a) {
      const double steps = real(a, b) / y.scale;
      const std::int32_t expected = y.clamp(std::llround(std::floor(steps + 0.5)) + y.zero_point);
      const std::int32_t code = wide.const_data_ptr<std::int32_t>()[256 * b + a];
      const bool tie = std::fabs(steps - std::floor(steps) - 0.5) <= reach;
      near += tie ? 1 : 0;
      ASSERT_LE(std::abs(code - expected), tie ? 1 : 0) << rule << " " << a << " " << b << " " << steps;
    }
  EXPECT_LT(near, 65536 / 50) << rule;
}

const QType kA = type_of("uint8 affine tensor", 0.0213F, 101), kB = type_of("uint8 affine tensor", 0.0371F, 33);

// Float32 rules: at most 6 roundings of values that stay below 2^10 steps: 6 * 2^-24 * 2^10 = 4e-4. tflite: its
// operands are rounded to 2^-19 of twice the larger scale (3 roundings of half a step, or 1.5 * 2^-19 * 2 * 0.04 /
// 0.05 < 1e-5), and the output's right shift, 2^-18 and finer, adds 0.5 * 2^-18.
TEST(IntegerAdd, IsTheRoundedSumUnderEveryRule) {
  const Pairs pairs;
  const QType y = type_of("uint8 affine tensor", 0.0517F, 77);
  for (const Requantize rule : kAllRules)
    expect_codes(integer_add({pairs.a, kA}, {pairs.b, kB}, {y, {rule}, {}}), output_codes(y, {rule}), 4e-4,
                 name_of(rule), [](int a, int b) { return real_of(a, kA) + real_of(b, kB); });
}

// Products stay below 2^16 and the result below 2^12 steps: 5 * 2^-24 * 2^12 = 1.3e-3. tflite rounds twice:
// M = 0.0213 * 0.0371 / 0.15 = 0.0053 = 0.67 * 2^-7, so by 2^-8 steps more.
TEST(IntegerMul, IsTheRoundedProductUnderEveryRule) {
  const Pairs pairs;
  const QType y = type_of("int8 affine tensor", 0.15F, -7);
  for (const Requantize rule : kAllRules)
    expect_codes(integer_mul({pairs.a, kA}, {pairs.b, kB}, {y, {rule}, {}}), output_codes(y, {rule}),
                 rule == Requantize::kTflite ? 1.3e-3 + 0x1p-8 : 1.3e-3, name_of(rule),
                 [](int a, int b) { return real_of(a, kA) * real_of(b, kB); });
}

// Steps of 1/2: half of all sums are ties.
TEST(IntegerAdd, TiesFallAsTheRuleSays) {
  struct Row {
    Requantize rule;
    std::vector<int> codes;  // of -1.5, -0.5, 0.5, 1.5 with the zero point 1
  };
  const Row rows[] = {{Requantize::kMlas, {0, 0, 2, 2}},   {Requantize::kTflite, {-1, 0, 2, 3}},
                      {Requantize::kHalfUp, {0, 1, 2, 3}}, {Requantize::kAway, {-1, 0, 2, 3}},
                      {Requantize::kAffine, {0, 0, 2, 2}}, {Requantize::kFloat, {-1, 1, 1, 3}}};
  const QType half = type_of("int8 affine tensor", 0.5F, 0), one = type_of("int8 affine tensor", 1.0F, 1);
  const at::Tensor a = at::tensor({-4, -2, 0, 2}), b = at::tensor({1, 1, 1, 1});
  for (const Row& row : rows) {
    const at::Tensor codes = integer_add({a, half}, {b, half}, {one, {row.rule}, {}});
    EXPECT_TRUE(codes.to(at::kInt).equal(at::tensor(at::ArrayRef<int>(row.codes)))) << name_of(row.rule) << codes;
  }
}

TEST(IntegerAdd, ClipsAFusedRelu) {
  const Pairs pairs;
  const QType y = type_of("uint8 affine tensor", 0.0517F, 77);
  const at::Tensor plain = integer_add({pairs.a, kA}, {pairs.b, kB}, {y, {}, {}});
  EXPECT_TRUE(integer_add({pairs.a, kA}, {pairs.b, kB}, {y, {}, {0.0F, INFINITY}}).equal(plain.clamp_min(77)));
}

// One operand too small to matter: its fixed-point multiplier is 0.
TEST(IntegerAdd, TakesAVanishingOperand) {
  const Pairs pairs;
  const QType tiny = type_of("uint8 affine tensor", 1e-12F, 0);
  for (const Requantize rule : kAllRules)
    EXPECT_TRUE(integer_add({pairs.a, kA}, {pairs.b, tiny}, {kA, {rule}, {}}).equal(pairs.a.expand({256, 256})))
        << name_of(rule);
}

TEST(IntegerConcat, PassesItsOwnTypeAndRequantizesOthers) {
  at::manual_seed(1);
  const QType y = type_of("uint8 affine tensor", 0.0317F, 9);
  const at::Tensor a = random_codes({2, 3, 4}, y.scheme), b = random_codes({2, 5, 4}, kB.scheme);
  for (const Requantize rule : kAllRules) {
    const Output out{y, {rule}, {}};
    const at::Tensor codes = integer_concat({{a, y}, {b, kB}}, 1, out);
    EXPECT_EQ(codes.sizes(), at::IntArrayRef({2, 8, 4}));
    EXPECT_TRUE(codes.slice(1, 0, 3).equal(a));
    EXPECT_TRUE(codes.slice(1, 3).equal(integer_requantize({b, kB}, out)));
  }
}

// Under mlas and float: dequantize, quantize.
TEST(IntegerRequantize, DividesUnderMlas) {
  const at::Tensor codes = at::arange(256).to(at::kByte);
  int moved = 0;
  for (int n = 1; n < 40; ++n)
    for (int d = 1; d < 40; ++d) {
      const QType x = type_of("uint8 affine tensor", static_cast<float>(n) / 192.0F, 128);
      const QType y = type_of("uint8 affine tensor", static_cast<float>(d) / 96.0F, 77);
      const at::Tensor expected = quantize_reference(dequantize_reference(codes, x), y);
      ASSERT_TRUE(integer_requantize({codes, x}, {y, {Requantize::kMlas}, {}}).equal(expected)) << n << "/" << d;
      ASSERT_TRUE(integer_requantize({codes, x}, {y, {Requantize::kFloat}, {}}).equal(expected)) << n << "/" << d;
      const Requantizer product({Requantize::kMlas}, {x.params.scale[0], {1.0F}, 1}, output_codes(y, {}));
      for (int code = 0; code < 256; ++code)
        moved += product(code - 128) != expected.const_data_ptr<std::uint8_t>()[code] ? 1 : 0;
    }
  EXPECT_GT(moved, 0);  // a product with s_x/s_y would be another rule
}

// OpenVINO 2026.4.1 on scales of SqueezeNet's second Concat, which put 14 * s_x / s_y a hundred-millionth above 15.5.
TEST(IntegerRequantize, DividesTheIntervalUnderAffine) {
  const QType x = type_of("uint8 affine tensor", 0.15012904F), y = type_of("uint8 affine tensor", 0.13560042F);
  const at::Tensor codes = at::tensor({14, 42, 98, 154, 182, 210}, at::kByte);
  const at::Tensor expected = at::tensor({16, 47, 109, 171, 202, 233}, at::kByte);
  EXPECT_TRUE(integer_requantize({codes, x}, {y, {Requantize::kAffine}, {}}).equal(expected));
}

TEST(IntegerClip, ClampsCodesAsValues) {
  const at::Tensor codes = at::arange(256).to(at::kByte);
  for (const Clip clip : {Clip{0.0F, INFINITY}, Clip{0.0F, 2.0F}, Clip{-1.0F, 1.0F}}) {
    const at::Tensor values = dequantize_reference(codes, kA).clamp(clip.min, clip.max);
    EXPECT_TRUE(integer_clip({codes, kA}, clip).equal(quantize_reference(values, kA)));
  }
}

TEST(IntegerPad, PadsWithTheZeroPoint) {
  const at::Tensor codes = at::tensor({1, 2, 3, 4}).view({2, 2}).to(at::kByte);
  const at::Tensor padded = integer_pad({codes, kB}, {1, 0, 0, 2});
  EXPECT_TRUE(padded.equal(at::tensor({33, 33, 33, 33, 1, 2, 33, 33, 3, 4, 33, 33}).view({3, 4}).to(at::kByte)));
  EXPECT_EQ(integer_pad({codes, kB}, {1, 0, 0, 0}, 0.1F)[0][0].item<int>(), 36);
  EXPECT_ERROR(integer_pad({codes, kB}, {1, 0, -1, 0}), "pads of axis 0", "must not be negative");
  EXPECT_ERROR(integer_pad({codes, kB}, {1, 0}), "needs 4 pads, not 2");
}

// Ops that only move codes: the same codes, the same type, the same values.
TEST(IntegerCodes, PassThroughOpsThatMoveThem) {
  at::manual_seed(2);
  const at::Tensor codes = random_codes({2, 3, 4, 5}, kA.scheme), values = dequantize_reference(codes, kA);
  const auto moves = {
      +[](const at::Tensor& t) { return t.slice(2, 1, 3); }, +[](const at::Tensor& t) { return t.reshape({6, 20}); },
      +[](const at::Tensor& t) { return t.permute({0, 2, 3, 1}); }, +[](const at::Tensor& t) { return t.flatten(1); }};
  for (const auto move : moves) EXPECT_TRUE(dequantize_reference(move(codes), kA).equal(move(values)));
}

TEST(IntegerMul, NamesTheBoundWhenAProductOverflows) {
  const QType wide = type_of("uint16 symmetric tensor", 1.0F);
  const at::Tensor codes = store_codes(at::full({1}, 65535, at::kLong), wide.scheme);
  EXPECT_ERROR(integer_mul({codes, wide}, {codes, wide}, {wide, {}, {}}), "4294836225", "overflows int32");
  EXPECT_ERROR(integer_add({codes, wide}, {codes, wide}, {wide, {Requantize::kTflite}, {}}), "tflite rule of Add",
               "8-bit codes");
  EXPECT_EQ(integer_add({codes, wide}, {codes, wide}, {wide, {}, {}}).to(at::kInt).item<int>(), 65535);
}

TEST(IntegerOps, RefuseScalesThatAreNone) {
  const at::Tensor codes = at::ones({1, 1, 2, 2}, at::kByte), w = at::ones({1, 1, 1, 1}, at::kChar);
  const QType good = type_of("uint8 affine tensor", 1.0F), weight = type_of("int8 channel:0", 1.0F);
  for (const float scale : {0.0F, -1.0F, NAN, INFINITY}) {
    const QType bad = type_of("uint8 affine tensor", scale), bad_weight = type_of("int8 channel:0", scale);
    EXPECT_ERROR(integer_requantize({codes, bad}, {good, {}, {}}), "scale must be positive", concat("not ", scale));
    EXPECT_ERROR(integer_requantize({codes, good}, {bad, {}, {}}), "scale must be positive", concat("not ", scale));
    EXPECT_ERROR(integer_add({codes, good}, {codes, bad}, {good, {}, {}}), "scale must be positive",
                 concat("not ", scale));
    EXPECT_ERROR(integer_max_pool({codes, bad}, {{2, 2}, {}}), "scale must be positive", concat("not ", scale));
    EXPECT_ERROR(integer_clip({codes, bad}, {}), "scale must be positive", concat("not ", scale));
    EXPECT_ERROR(integer_conv({codes, good}, {w, bad_weight}, {}, {}, 1, {good, {}, {}}), "scale must be positive",
                 concat("not ", scale));
    EXPECT_ERROR(integer_conv({codes, bad}, {w, weight}, {}, {}, 1, {good, {}, {}}), "scale must be positive",
                 concat("not ", scale));
  }
  EXPECT_NO_THROW(integer_conv({codes, good}, {w, weight}, {}, {}, 1, {good, {}, {}}));
}

}  // namespace
}  // namespace quench

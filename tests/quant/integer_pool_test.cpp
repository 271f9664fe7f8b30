#include <gtest/gtest.h>

#include <cmath>

#include "quant/integer_cases.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const QType kX = type_of("uint8 affine tensor", 0.0213F, 101);

at::Tensor random_x(at::IntArrayRef sizes) { return random_codes(sizes, kX.scheme); }

TEST(IntegerMaxPool, IsTheGreatestCode) {
  at::manual_seed(1);
  const at::Tensor codes = random_x({2, 3, 9, 8});
  for (const bool ceil : {false, true}) {
    const at::Tensor expected = at::max_pool2d(codes.to(at::kDouble), {3, 2}, {2, 3}, {1, 1}, {1, 2}, ceil);
    const Pool pool{{3, 2}, {{2, 3}, {1, 1, 1, 1}, {1, 2}}, ceil, false};
    const at::Tensor result = integer_max_pool({codes, kX}, pool);
    EXPECT_EQ(result.scalar_type(), at::kByte);
    EXPECT_TRUE(result.to(at::kDouble).equal(expected)) << ceil;
  }
}

TEST(IntegerMaxPool, PaddingNeverWins) {
  const QType x = type_of("int8 tensor", 0.1F);
  const at::Tensor codes = at::full({1, 1, 2, 2}, -128, at::kChar);
  EXPECT_TRUE(integer_max_pool({codes, x}, {{3, 3}, {{}, {1, 1, 1, 1}, {}}}).equal(codes));
}

// The mean of the values, quantized, but near a tie: float32 rules are off by the sum of 12 terms of at most 155
// steps and 5 roundings, (11 * 12 * 155 + 5 * 400) * 2^-24 = 1.3e-3 steps. tflite rounds twice: it has its own test.
constexpr Requantize kOnce[] = {Requantize::kMlas, Requantize::kHalfUp, Requantize::kAway, Requantize::kAffine,
                                Requantize::kFloat};

void expect_means(const at::Tensor& codes, const at::Tensor& means, const QType& y, Requantize rule) {
  const OutputCodes out = output_codes(y, {rule});
  const at::Tensor steps = means / static_cast<double>(out.scale);
  const at::Tensor expected = ((steps + 0.5).floor() + out.zero_point).clamp(out.low, out.high);
  const at::Tensor near = (steps - steps.floor() - 0.5).abs() <= 1.3e-3;
  const at::Tensor difference = (codes.to(at::kDouble) - expected).abs();
  ASSERT_EQ(codes.sizes(), means.sizes());
  EXPECT_EQ(((difference > 0) & ~near).sum().item<int>(), 0) << name_of(rule);
  EXPECT_LE(difference.max().item<double>(), 1.0) << name_of(rule);
  EXPECT_LT(near.sum().item<std::int64_t>(), codes.numel() / 5) << name_of(rule);
}

TEST(IntegerAveragePool, CountsPaddingOrNot) {
  at::manual_seed(2);
  const at::Tensor codes = random_x({2, 3, 11, 10}), values = codes.to(at::kDouble) - 101;
  const QType y = type_of("uint8 affine tensor", 0.0213F * 1.5F, 60);
  for (const bool include : {false, true})
    for (const bool ceil : {false, true}) {
      const at::Tensor means = at::avg_pool2d(values, {3, 4}, {2, 3}, {1, 1}, ceil, include) * kX.params.scale[0];
      for (const Requantize rule : kOnce)
        expect_means(
            integer_average_pool({codes, kX}, {{3, 4}, {{2, 3}, {1, 1, 1, 1}, {}}, ceil, include}, {y, {rule}, {}}),
            means, y, rule);
    }
}

TEST(IntegerAveragePool, GlobalIsOneWindow) {
  at::manual_seed(3);
  const at::Tensor codes = random_x({4, 16, 3, 4}), values = codes.to(at::kDouble) - 101;
  const QType y = type_of("uint8 affine tensor", 0.0213F / 2.7F, 128);
  for (const Requantize rule : kOnce) {
    const at::Tensor result = integer_global_average_pool({codes, kX}, {y, {rule}, {}});
    expect_means(result, values.mean({2, 3}, true) * kX.params.scale[0], y, rule);
    EXPECT_TRUE(result.equal(integer_average_pool({codes, kX}, {{3, 4}, {}}, {y, {rule}, {}}))) << name_of(rule);
  }
}

// Sums and counts as integers, then the fixed-point multiplication that requantize_test compares with gemmlowp's.
TEST(IntegerAveragePool, TfliteMultipliesTheSumOnce) {
  at::manual_seed(5);
  const at::Tensor codes = random_x({2, 3, 11, 10}), values = codes.to(at::kDouble) - 101;
  const QType y = type_of("uint8 affine tensor", 0.0317F, 60);
  const Output out{y, {Requantize::kTflite}, {}};
  const at::Tensor sums = (at::avg_pool2d(values, {3, 4}, {2, 3}, {1, 1}, false, true) * 12).round().flatten();
  const at::Tensor counts =
      (at::avg_pool2d(at::ones_like(values), {3, 4}, {2, 3}, {1, 1}, false, true) * 12).round().flatten();
  for (const bool include : {false, true}) {
    const Pool pool{{3, 4}, {{2, 3}, {1, 1, 1, 1}, {}}, false, include};
    const at::Tensor result = integer_average_pool({codes, kX}, pool, out).flatten();
    for (std::int64_t i = 0; i < result.numel(); ++i) {
      const double count = include ? 12 : counts[i].item<double>();
      const FixedPoint m = fixed_point(static_cast<double>(0.0213F) / count / 0.0317F);
      const int code = multiply_tflite(sums[i].item<std::int64_t>(), m) + 60;
      ASSERT_EQ(result[i].item<int>(), std::clamp(code, 0, 255)) << i;
    }
  }
}

// 1 + 2 and -1 - 2 over 2: LiteRT's own average of codes of one type, ties away from zero.
TEST(IntegerAveragePool, TfliteRoundsCodesAwayFromZero) {
  const QType x = type_of("int8 affine tensor", 0.3F, 5);
  const at::Tensor codes = at::tensor({1, 2, -1, -2}).view({1, 2, 2}).to(at::kChar);
  const at::Tensor result = integer_average_pool({codes, x}, {{2}, {}}, {x, {Requantize::kTflite}, {}});
  EXPECT_TRUE(result.flatten().equal(at::tensor({2, -2}).to(at::kChar))) << result;
}

TEST(IntegerAveragePool, TakesOneAndThreeDimensions) {
  at::manual_seed(4);
  const QType half = type_of("uint8 affine tensor", 0.5F, 101);  // so that means are exact in float32
  const Output same{half, {Requantize::kFloat}, {}};
  const at::Tensor line = random_x({1, 2, 8}), solid = random_x({1, 2, 4, 4, 4});
  const auto means = [](const at::Tensor& mean) { return (mean.round() + 101).to(at::kByte); };
  EXPECT_TRUE(integer_average_pool({line, half}, {{4}, {{4}, {}, {}}}, same)
                  .equal(means(at::avg_pool1d(line.to(at::kDouble) - 101, {4}, {4}))));
  EXPECT_TRUE(integer_average_pool({solid, half}, {{2, 2, 2}, {{2, 2, 2}, {}, {}}}, same)
                  .equal(means(at::avg_pool3d(solid.to(at::kDouble) - 101, {2, 2, 2}, {2, 2, 2}))));
}

TEST(IntegerPool, SaysWhatIsWrong) {
  const at::Tensor codes = random_x({1, 1, 4, 4});
  EXPECT_ERROR(integer_max_pool({codes, kX}, {{3}, {}}), "rank 4 and 1 kernel sizes");
  EXPECT_ERROR(integer_max_pool({codes, kX}, {{5, 5}, {}}), "window of 5 does not fit into 4");
  EXPECT_ERROR(integer_average_pool({codes, kX}, {{1, 1}, {{}, {1, 1, 1, 1}, {}}}, {kX, {}, {}}),
               "window lies in the padding");
}

// A batch of none has averages of none, as in float; of no pixels there is no average.
TEST(IntegerGlobalAveragePool, TakesABatchOfNone) {
  const Output y{type_of("uint8 affine tensor", 0.1F, 5), {Requantize::kMlas}, {}};
  const at::Tensor none = integer_global_average_pool({random_x({0, 3, 4, 4}), kX}, y);
  EXPECT_EQ(none.sizes(), at::IntArrayRef({0, 3, 1, 1}));
  EXPECT_ERROR(integer_global_average_pool({random_x({2, 3, 0, 4}), kX}, y), "nothing to average");
}

}  // namespace
}  // namespace quench

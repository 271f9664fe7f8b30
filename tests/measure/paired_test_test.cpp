#include "quench/paired_test.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quench/error.h"

namespace quench {
namespace {

Prediction made(std::int64_t index, std::int64_t label, std::int64_t first) {
  return {index, "image" + std::to_string(index), label, first, 0, 1.0, 0.5};
}

TEST(WilsonInterval, AgreesWithPublishedFigures) {
  // 81 of 263: Newcombe 1998, table I, method 3.
  const Interval interval = wilson_interval(81, 263);
  EXPECT_NEAR(interval.low, 0.2553, 5e-5);
  EXPECT_NEAR(interval.high, 0.3662, 5e-5);
}

TEST(WilsonInterval, StaysInsideTheUnitInterval) {
  EXPECT_DOUBLE_EQ(wilson_interval(0, 20).low, 0.0);
  EXPECT_NEAR(wilson_interval(0, 20).high, 0.1611, 5e-5);
  EXPECT_DOUBLE_EQ(wilson_interval(20, 20).high, 1.0);
  EXPECT_LE(wilson_interval(1441, 2000).high - wilson_interval(1441, 2000).low, 0.04);
}

TEST(McNemar, CountsTheBinomialTailExactly) {
  EXPECT_DOUBLE_EQ(mcnemar_p_value(0, 0), 1.0);
  EXPECT_DOUBLE_EQ(mcnemar_p_value(5, 5), 1.0);
  EXPECT_NEAR(mcnemar_p_value(0, 5), 2.0 / 32, 1e-12);
  EXPECT_NEAR(mcnemar_p_value(1, 7), 2.0 * (1 + 8) / 256, 1e-12);
  EXPECT_NEAR(mcnemar_p_value(7, 1), mcnemar_p_value(1, 7), 1e-15);
}

TEST(McNemar, TakesLargeCounts) {
  const double p = mcnemar_p_value(4900, 5100);
  EXPECT_GT(p, 0.04);
  EXPECT_LT(p, 0.05);  // the normal approximation with continuity gives 0.0466
}

TEST(ComparePredictions, CountsWhatDiffers) {
  const std::vector<Prediction> first = {made(0, 1, 1), made(1, 1, 1), made(2, 1, 2), made(3, 1, 3)};
  const std::vector<Prediction> second = {made(3, 1, 2), made(2, 1, 1), made(1, 1, 0), made(0, 1, 1)};
  const PairedTest test = compare_predictions(first, second);
  EXPECT_EQ(test.items, 4);
  EXPECT_EQ(test.only_first, 1);
  EXPECT_EQ(test.only_second, 1);
  EXPECT_EQ(test.changed, 3);
  EXPECT_DOUBLE_EQ(test.p_value, 1.0);
}

TEST(ComparePredictions, RefusesOtherImages) {
  const auto message = [](const std::vector<Prediction>& a, const std::vector<Prediction>& b) -> std::string {
    try {
      compare_predictions(a, b);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({made(0, 1, 1)}, {}), "the two runs have 1 and 0 items; a paired test needs the same ones");
  EXPECT_EQ(message({made(0, 1, 1)}, {made(1, 1, 1)}), "item 0 ('image0') is in one of the two runs only");
  EXPECT_EQ(message({made(0, 1, 1)}, {made(0, 2, 1)}),
            "item 0 is 'image0' with label 1 in one run and 'image0' with label 2 in the other: not the same data");
}

// Worked by hand: n = 98 + 2, cells 8 + 1 and 2 + 1; d = 0.06, half = 1.96 sqrt((0.12 - 0.0036) / 100) = 0.06687.
TEST(DifferenceInterval, IsThatOfBonettAndPrice) {
  PairedTest test;
  test.items = 98;
  test.only_first = 8;
  test.only_second = 2;
  const Interval interval = difference_interval(test);
  EXPECT_NEAR(interval.low, 0.06 - 0.06687, 1e-5);
  EXPECT_NEAR(interval.high, 0.06 + 0.06687, 1e-5);
}

TEST(DifferenceInterval, HoldsNoDifferenceWhereTheRunsAreEqual) {
  PairedTest test;
  test.items = 1000;
  const Interval interval = difference_interval(test);
  EXPECT_EQ(interval.low, -interval.high);
  EXPECT_LT(interval.high, 0.005);
}

}  // namespace
}  // namespace quench

// Intervals by drawing items again: against what theory says of a mean, and of two runs that share their items.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/philox.h"
#include "quench/metric.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// The mean of numbers, each taken some times.
Metric::ValueOf mean_of(const std::vector<double>& numbers) {
  return [numbers](const std::vector<int>& times) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      sum += times[i] * numbers[i];
      count += times[i];
    }
    return sum / count;
  };
}

std::vector<double> uniform_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(random_bits(seed, i) >> 32) / 4294967296.0);
  return numbers;
}

double deviation(const std::vector<double>& numbers) {
  const auto n = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
  double squares = 0;
  for (const double one : numbers) squares += (one - mean) * (one - mean);
  return std::sqrt(squares / n);
}

// A mean of n numbers is nearly normal: mean +- 1.96 s / sqrt(n).
TEST(Bootstrap, IntervalOfAMeanIsTheNormalOne) {
  const std::vector<double> numbers = uniform_numbers(400, 3);
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / 400;
  const double half = 1.96 * deviation(numbers) / std::sqrt(400.0);
  const Interval interval = bootstrap_interval(mean_of(numbers), 400, 4000);
  EXPECT_NEAR(interval.low, mean - half, 0.1 * half);
  EXPECT_NEAR(interval.high, mean + half, 0.1 * half);
}

TEST(Bootstrap, DependsOnTheSeedAlone) {
  const auto value = mean_of(uniform_numbers(50, 1));
  const Interval first = bootstrap_interval(value, 50, 200), again = bootstrap_interval(value, 50, 200);
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_NE(first.low, bootstrap_interval(value, 50, 200, 7).low);
}

TEST(Bootstrap, EveryDrawHasAsManyItemsAsThereAre) {
  bool first = true;
  const auto value = [&](const std::vector<int>& times) {
    EXPECT_EQ(std::accumulate(times.begin(), times.end(), 0), 30);
    if (first) {
      EXPECT_NE(times, std::vector<int>(30, 1));
    }
    first = false;
    return 0.0;
  };
  bootstrap_interval(value, 30, 20);
  EXPECT_ERROR(bootstrap_interval(value, 0, 20), "an interval needs items and draws, not 0 and 20");
}

// Two runs that differ by 0.01 on each item, give or take little: far surer than either alone.
TEST(Bootstrap, PairsSeeADifferenceThatSingleIntervalsHide) {
  std::vector<double> first = uniform_numbers(100, 5), second = first;
  for (std::size_t i = 0; i < 100; ++i) second[i] -= i % 2 == 0 ? 0.012 : 0.008;
  const PairedDifference found = bootstrap_difference(mean_of(first), mean_of(second), 100, 1000);
  EXPECT_NEAR(found.difference, 0.01, 1e-12);
  EXPECT_GT(found.interval.low, 0.009);
  EXPECT_LT(found.interval.high, 0.011);
  EXPECT_NEAR(found.p_value, 2.0 / 1001, 1e-12);
  const Interval alone = bootstrap_interval(mean_of(first), 100, 1000);
  EXPECT_GT(alone.high - alone.low, 0.08);
  const PairedDifference none = bootstrap_difference(mean_of(first), mean_of(first), 100, 100);
  EXPECT_EQ(none.p_value, 1.0);
}

TEST(Bootstrap, NothingIsSignificantWithoutAValue) {
  const auto nothing = [](const std::vector<int>&) { return std::numeric_limits<double>::quiet_NaN(); };
  EXPECT_TRUE(std::isnan(bootstrap_difference(nothing, nothing, 10, 100, 1).p_value));
  // Half of the draws have a value, and it is above zero in each: p counts those alone.
  int draw = 0;
  const auto first = [&](const std::vector<int>&) { return draw++ % 2 == 0 ? 1.0 : std::nan(""); };
  const auto second = [](const std::vector<int>&) { return 0.0; };
  EXPECT_NEAR(bootstrap_difference(first, second, 10, 100, 1).p_value, 2.0 / 51, 1e-12);
}

TEST(Bootstrap, DrawsWithoutAValueDoNotCount) {
  int asked = 0;
  const auto value = [&](const std::vector<int>&) { return ++asked % 2 == 0 ? 4.0 : std::nan(""); };
  const Interval interval = bootstrap_interval(value, 5, 100);
  EXPECT_EQ(interval.low, 4.0);
  EXPECT_EQ(interval.high, 4.0);
}

}  // namespace
}  // namespace quench

#include "observers/resampled_histogram.h"

#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

ResampledHistogram made(double bins, bool absolute = false) {
  return ResampledHistogram(Options{{"bins", bins}, {"upsample_rate", 128.0}}, absolute);
}

void feed(ResampledHistogram& histogram, const at::Tensor& x) {
  histogram.add(x, QScheme(), {{x.min().item<float>()}, {x.max().item<float>()}});
}

TEST(ResampledHistogram, TheFirstBatchIsCountedOverItsRange) {
  ResampledHistogram histogram = made(4);
  feed(histogram, at::tensor({0.0F, 1.0F, 2.0F, 3.9F, 4.0F}));
  EXPECT_TRUE(at::equal(histogram.counts()[0], at::tensor({1.0, 1.0, 1.0, 2.0})));
}

// D11: bounds are floats; torch through 1.13 counted [0, 4.66] over [0, 4] and lost the rest.
TEST(ResampledHistogram, FractionalBoundsLoseNothing) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({10000}).relu();
  ResampledHistogram histogram = made(2048);
  feed(histogram, x);
  EXPECT_EQ(histogram.total(0), 10000);
  EXPECT_EQ(histogram.high(0), x.max().item<float>());
  ResampledHistogram old(Options{{"bins", 2048.0}, {"upsample_rate", 128.0}, {"torch113", 1.0}});
  feed(old, x);
  EXPECT_TRUE(at::equal(old.counts()[0], at::histc(x, 2048, 0, std::trunc(x.max().item<float>())).to(at::kDouble)));
  EXPECT_LT(old.total(0), 10000);
}

// docs/numerics.md 7.1, with the fine grid written out.
std::vector<double> resampled(const std::vector<double>& old, double old_low, double old_high, double low,
                              double high) {
  constexpr int kFine = 128;
  const auto bins = static_cast<int>(old.size());
  const double width = (old_high - old_low) / (bins * kFine);
  const auto rate = static_cast<int>(std::ceil((high - low) / (bins * width)));
  const auto offset = static_cast<int>(std::round((old_low - low) / width));
  std::vector<double> fine(static_cast<std::size_t>(bins * rate)), result(old.size());
  for (int i = 0; i < bins * kFine; ++i)
    fine[static_cast<std::size_t>(i + offset)] = old[static_cast<std::size_t>(i / kFine)] / kFine;
  for (int i = 0; i < bins * rate; ++i) result[static_cast<std::size_t>(i / rate)] += fine[static_cast<std::size_t>(i)];
  return result;
}

TEST(ResampledHistogram, GrowsAsTheFineGridSays) {
  ResampledHistogram histogram = made(8);
  feed(histogram, at::tensor({0.0F, 0.1F, 0.3F, 0.3F, 0.9F, 1.0F}));
  const std::vector<double> old(histogram.row(0), histogram.row(0) + 8);
  const at::Tensor more = at::tensor({-0.5F, 1.7F});
  feed(histogram, more);
  std::vector<double> wanted = resampled(old, 0, 1, -0.5, static_cast<double>(1.7F));
  wanted.front() += 1;
  wanted[static_cast<std::size_t>((1.7F + 0.5F) / histogram.width(0))] += 1;
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(histogram.row(0)[i], wanted[static_cast<std::size_t>(i)], 1e-12) << i;
  EXPECT_EQ(histogram.low(0), -0.5F);
  EXPECT_GE(histogram.high(0), 1.7F);
  EXPECT_LT(histogram.high(0), 1.7F + 1.0F / 128);  // relaxed by less than a fine step of all bins
}

TEST(ResampledHistogram, NothingIsLostWhateverTheRangesDo) {
  at::manual_seed(2);
  ResampledHistogram histogram = made(64);
  double total = 0;
  for (const float size : {0.0F, 0.0F, 1e-38F, 1e-9F, 1.0F, 1.1F, 5.0F, 1e6F, 1e38F, 3.0F}) {
    const at::Tensor x = at::rand({100}) * size - 0.3F * size;
    feed(histogram, x);
    total += 100;
    EXPECT_NEAR(histogram.total(0), total, total * 1e-12) << size;
  }
}

TEST(ResampledHistogram, AConstantFirstBatchKeepsItsCounts) {
  ResampledHistogram histogram = made(10);
  feed(histogram, at::full({7}, 2.0F));
  EXPECT_EQ(histogram.total(0), 7);
  feed(histogram, at::tensor({0.0F, 10.0F}));
  EXPECT_EQ(histogram.row(0)[2], 7);
  EXPECT_EQ(histogram.total(0), 9);
}

TEST(ResampledHistogram, MergesCountsOfOneRangeExactly) {
  at::manual_seed(3);
  const at::Tensor ends = at::tensor({-1.0F, 1.0F});
  ResampledHistogram first = made(32), second = made(32), both = made(32);
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = at::cat({ends, at::rand({500}) * 2 - 1});
    feed(i < 2 ? first : second, x);
    feed(both, x);
  }
  first.merge(second);
  EXPECT_TRUE(at::equal(first.counts(), both.counts()));
}

TEST(ResampledHistogram, MergesOtherRangesByTheirDensity) {
  ResampledHistogram first = made(4), second = made(4);
  feed(first, at::tensor({0.0F, 8.0F}));
  feed(second, at::tensor({2.0F, 2.0F, 2.0F, 6.0F}));  // bins of 1: 3 in [2, 3), 1 in [5, 6]
  first.merge(second);
  EXPECT_TRUE(at::allclose(first.counts()[0], at::tensor({1.0, 3.0, 1.0, 1.0})));
}

TEST(ResampledHistogram, MagnitudesStartAtZero) {
  ResampledHistogram histogram = made(4, true);
  feed(histogram, at::tensor({-4.0F, 1.0F, 3.5F}));
  EXPECT_EQ(histogram.low(0), 0.0F);
  EXPECT_EQ(histogram.high(0), 4.0F);
  EXPECT_TRUE(at::equal(histogram.counts()[0], at::tensor({0.0, 1.0, 0.0, 2.0})));
  EXPECT_EQ(histogram.range().min[0], -4.0F);
}

}  // namespace
}  // namespace quench

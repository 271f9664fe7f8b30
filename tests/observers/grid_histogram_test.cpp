#include "observers/grid_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "observers/observing.h"

namespace quench {
namespace {

GridHistogram made(double bins, bool absolute = false) { return GridHistogram(Options{{"bins", bins}}, absolute); }

void feed(GridHistogram& histogram, const at::Tensor& x) {
  histogram.add(x, QScheme(), {{x.min().item<float>()}, {x.max().item<float>()}});
}

TEST(GridHistogram, EdgesAreMultiplesOfAPowerOfTwo) {
  GridHistogram histogram = made(4);  // rows of 8
  feed(histogram, at::tensor({-0.3F, 0.0F, 0.1F, 0.74F, 0.75F, 1.0F}));
  EXPECT_EQ(histogram.width(0), 0.25);
  EXPECT_EQ(histogram.low(0), -0.5);
  EXPECT_TRUE(at::equal(histogram.counts()[0], at::tensor({1.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0, 0.0})));
  EXPECT_EQ(histogram.used_bins(0), 7);
}

TEST(GridHistogram, PairsMergeWhereTheRangeGrows) {
  GridHistogram histogram = made(4);
  feed(histogram, at::tensor({-0.3F, 0.0F, 0.1F, 0.74F, 0.75F, 1.0F}));
  feed(histogram, at::tensor({2.2F}));
  EXPECT_EQ(histogram.width(0), 0.5);
  EXPECT_EQ(histogram.low(0), -0.5);
  EXPECT_TRUE(at::equal(histogram.counts()[0], at::tensor({1.0, 2.0, 2.0, 1.0, 0.0, 1.0, 0.0, 0.0})));
}

TEST(GridHistogram, OnePassFindsWhatTwoFind) {
  at::manual_seed(3);
  for (const bool absolute : {false, true}) {
    GridHistogram once = made(64, absolute), twice = made(64, absolute);
    EXPECT_FALSE(once.add_in_one_pass(at::randn({9}), QScheme())) << "there are no bins yet";
    int quick = 0;
    for (const double size : {1.0, 0.5, 1.05, 1.0, 3.0, 0.1, 2.9, 20.0, 1.0}) {
      const at::Tensor x = at::randn({3000}) * size;
      if (once.add_in_one_pass(x, QScheme()))
        ++quick;
      else
        feed(once, x);
      feed(twice, x);
      EXPECT_EQ(once.range().min, twice.range().min) << size;
      EXPECT_EQ(once.range().max, twice.range().max) << size;
      EXPECT_EQ(once.low(0), twice.low(0)) << size;
      EXPECT_EQ(once.width(0), twice.width(0)) << size;
      EXPECT_TRUE(at::equal(once.counts(), twice.counts())) << size;
    }
    EXPECT_GE(quick, 4);
    EXPECT_LE(quick, 7);
    const at::Tensor before = once.counts().clone();
    EXPECT_FALSE(once.add_in_one_pass(at::tensor({1.0F, NAN}), QScheme()));
    EXPECT_TRUE(at::equal(once.counts(), before));
  }
}

// The range fills at least `bins` of the row, but for values that differ by less than a float32 can say.
TEST(GridHistogram, AtLeastTheBinsThatWereAskedFor) {
  at::manual_seed(1);
  for (const double shift : {0.0, 0.5, 3.0, -100.0})
    for (const double size : {1e-3, 1.0, 7.0, 1e5}) {
      GridHistogram histogram = made(64);
      feed(histogram, at::rand({5000}) * size + shift);
      EXPECT_GE(histogram.used_bins(0), 64) << shift << " " << size;
      EXPECT_EQ(histogram.total(0), 5000);
    }
}

// Tiny values beside large ones, both signs, beyond what a float32 sum with the lower bound would keep apart.
at::Tensor awkward() {
  at::manual_seed(2);
  const at::Tensor size = at::pow(10, at::rand({4096}) * 12 - 9);
  return at::cat({at::randn({4096}) * size, at::tensor({0.0F, -0.0F, 1e-30F, -1e-30F, 2048.0F})});
}

TEST(GridHistogram, AnyCutAndAnyOrderGiveTheSameCounts) {
  const at::Tensor x = awkward();
  for (const bool absolute : {false, true}) {
    GridHistogram whole = made(128, absolute);
    feed(whole, x);
    for (const std::int64_t batch : {1, 7, 64, 1000}) {
      at::manual_seed(batch);
      const at::Tensor shuffled = x.index({at::randperm(x.size(0))});
      GridHistogram cut = made(128, absolute);
      for (std::int64_t at = 0; at < x.size(0); at += batch)
        feed(cut, shuffled.narrow(0, at, std::min(batch, x.size(0) - at)));
      EXPECT_TRUE(at::equal(cut.counts(), whole.counts())) << batch;
      EXPECT_EQ(cut.low(0), whole.low(0));
      EXPECT_EQ(cut.width(0), whole.width(0));
    }
  }
}

TEST(GridHistogram, MergingIsExact) {
  const at::Tensor x = awkward();
  GridHistogram whole = made(128), first = made(128), second = made(128);
  feed(whole, x);
  feed(first, x.narrow(0, 0, 100));
  feed(second, x.narrow(0, 100, x.size(0) - 100));
  GridHistogram other = second;
  other.merge(first);
  first.merge(second);
  EXPECT_TRUE(at::equal(first.counts(), whole.counts()));
  EXPECT_TRUE(at::equal(other.counts(), whole.counts()));
}

TEST(GridHistogram, AValueIsInTheBinThatHoldsIt) {
  const at::Tensor x = awkward();
  GridHistogram histogram = made(2048);
  feed(histogram, x);
  std::vector<double> wanted(static_cast<std::size_t>(histogram.bins()));
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const double place = std::floor(x[i].item<double>() / histogram.width(0)) - histogram.low(0) / histogram.width(0);
    ++wanted.at(static_cast<std::size_t>(place));
  }
  for (int i = 0; i < histogram.bins(); ++i) ASSERT_EQ(histogram.row(0)[i], wanted[static_cast<std::size_t>(i)]) << i;
}

TEST(GridHistogram, NothingIsLostWhateverTheRangesDo) {
  at::manual_seed(2);
  GridHistogram histogram = made(64);
  double total = 0;
  for (const float size : {0.0F, 0.0F, 1e-38F, 1e-9F, 1.0F, 1.1F, 5.0F, 1e6F, 1e38F, 3.4e38F, 3.0F}) {
    feed(histogram, at::rand({100}) * size - 0.3F * size);
    total += 100;
    EXPECT_EQ(histogram.total(0), total) << size;
  }
}

TEST(GridHistogram, EqualValuesHaveNoWidth) {
  GridHistogram histogram = made(10);
  feed(histogram, at::full({7}, 2.3F));
  EXPECT_EQ(histogram.width(0), 0);
  EXPECT_EQ(histogram.low(0), 2.3F);
  EXPECT_EQ(histogram.row(0)[0], 7);
  feed(histogram, at::tensor({0.0F, 10.0F}));
  EXPECT_EQ(histogram.total(0), 9);
  EXPECT_EQ(histogram.row(0)[static_cast<int>(2.3 / histogram.width(0))], 7);
}

}  // namespace
}  // namespace quench

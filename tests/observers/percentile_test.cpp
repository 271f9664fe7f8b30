#include <gtest/gtest.h>

#include <algorithm>

#include "observers/observing.h"

namespace quench {
namespace {

// By sorting: the value below which `share` of the elements lie.
float sorted_at(const at::Tensor& x, double share) { return at::quantile(x.to(at::kDouble), share).item<float>(); }

TEST(PercentileObserver, CutsEachTailApart) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({100000}).exp();  // a long upper tail only
  const QParams found = observed("percentile", "uint8 affine tensor", {x}, {{"percentile", 99.0}});
  const float high = sorted_at(x, 0.99);
  // A bin is 1/2048 of the range, and so is the most that interpolation inside it can err.
  const float bin = (x.max() - x.min()).item<float>() / 2048;
  EXPECT_NEAR(found.scale[0] * 255, high, bin);
  EXPECT_EQ(found.zero_point[0], 0);
  const QParams below = observed("percentile", "uint8 affine tensor", {-x}, {{"percentile", 99.0}});
  EXPECT_NEAR(below.scale[0] * 255, high, bin);
  EXPECT_EQ(below.zero_point[0], 255);
}

TEST(PercentileObserver, HoldsOverManyBatchesAndMerges) {
  at::manual_seed(2);
  std::vector<at::Tensor> batches;
  for (int i = 0; i < 16; ++i) batches.push_back(at::randn({5000}) * (1 + i % 4));
  const at::Tensor all = at::cat(batches);
  const float high = std::max(sorted_at(all, 0.995), -sorted_at(all, 0.005));
  const float bin = (all.max() - all.min()).item<float>() / 2048;
  const Options options = {{"percentile", 99.5}};
  // Every growth of the range spreads counts by up to a bin; it grows a few times here.
  EXPECT_NEAR(observed("percentile", "int8 symmetric tensor narrow", batches, options).scale[0] * 127, high, 4 * bin);
  EXPECT_NEAR(merged("percentile", "int8 symmetric tensor narrow", batches, options).scale[0] * 127, high, 4 * bin);
}

TEST(PercentileObserver, KeepsTheWholeRangeAtAHundred) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({400});
  EXPECT_EQ(observed("percentile", "uint8 affine tensor", {x}, {{"percentile", 100.0}}),
            observed("min_max", "uint8 affine tensor", {x}));
}

TEST(PercentileObserver, SymmetricTakesTheLargerEndToBothSides) {
  const at::Tensor x = at::linspace(-1, 3, 10001);
  const QParams found = observed("percentile", "uint8 affine tensor", {x}, {{"percentile", 100.0}, {"symmetric", 1.0}});
  EXPECT_FLOAT_EQ(found.scale[0], 6.0F / 255);
}

TEST(PercentileObserver, RefusesTheLowerHalf) {
  EXPECT_NE(message_of([] { observer_of("percentile", "int8", {{"percentile", 0.9999}}); }).find("between 50 and 100"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

// docs/numerics.md 7.3 written over whole groups: the grouping's borders by a loop over hundredths would be slow, so
// bins are chosen such that each kept count divides evenly: only multiples of the levels are compared.
double divergence(const std::vector<double>& counts, int kept, int levels) {
  std::vector<double> p(counts.begin(), counts.begin() + kept), q(p.size());
  double beyond = 0, inside = 0, total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) (static_cast<int>(i) < kept ? inside : beyond) += counts[i];
  p.back() += beyond;
  total = inside + beyond;
  const int size = kept / levels;
  for (int g = 0; g < levels; ++g) {
    double mass = 0, filled = 0;
    for (int i = g * size; i < (g + 1) * size; ++i) {
      mass += counts[static_cast<std::size_t>(i)];
      filled += p[static_cast<std::size_t>(i)] > 0 ? 1 : 0;
    }
    for (int i = g * size; i < (g + 1) * size; ++i)
      if (p[static_cast<std::size_t>(i)] > 0) q[static_cast<std::size_t>(i)] = mass / filled;
  }
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) sum += p[i] / total * std::log(p[i] / total / (q[i] > 0 ? q[i] / inside : 1e-4));
  return sum;
}

// Once a bug: pooled means, a narrow peak for each channel. All of them were clipped to the lowest.
TEST(KlObserver, KeepsPeaksApart) {
  at::manual_seed(2);
  const at::Tensor peaks = at::tensor({1.0F, 2.0F, 3.0F, 5.0F}).repeat({500});
  const QParams found = observed("kl", "int8 symmetric tensor narrow", {peaks + 1e-4 * at::rand({2000})}, {});
  EXPECT_NEAR(found.scale[0] * 127, 5.0, 0.01);
}

TEST(KlObserver, NoWholeGroupingIsBetter) {
  at::manual_seed(1);
  const at::Tensor any = at::randn({40000}) * at::rand({40000});
  const at::Tensor x = any / any.abs().max() * 0.999F;  // fills a row of 256 bins of 1/256
  constexpr int kBins = 256, kLevels = 16;
  constexpr float kTop = 1.0F;
  const QParams found =
      observed("kl", "int8 symmetric tensor narrow", {x}, {{"bins", kBins / 2.0}, {"levels", 1.0 * kLevels}});
  const double clip = found.scale[0] * 127.0;
  const double kept = clip / kTop * kBins - 0.5;
  EXPECT_NEAR(kept, std::round(kept), 1e-3);
  EXPECT_LT(clip, kTop);
  const at::Tensor counted = at::histc(x.abs(), kBins, 0, kTop).to(at::kDouble);
  const std::vector<double> counts(counted.const_data_ptr<double>(), counted.const_data_ptr<double>() + kBins);
  // The winner is at least as good as each of the whole groupings; where it is one, it must be the best of them.
  double least = INFINITY;
  int best = 0;
  for (int k = kLevels; k <= kBins; k += kLevels) {
    const double one = divergence(counts, k, kLevels);
    if (one < least) {
      least = one;
      best = k;
    }
  }
  EXPECT_NEAR(kept, best, 2.5 * kLevels);  // the divergence is smooth at the scale of a few groups
}

TEST(KlObserver, CutsOutliersAndKeepsUniformData) {
  at::manual_seed(2);
  const at::Tensor bulk = at::randn({100000});
  const at::Tensor outlier = at::cat({bulk, at::full({1}, 100.0F)});
  EXPECT_LT(observed("kl", "int8 symmetric tensor narrow", {outlier}).scale[0] * 127, 15.0F);
  const at::Tensor even = at::rand({100000}) * 2 - 1;
  EXPECT_GT(observed("kl", "int8 symmetric tensor narrow", {even}).scale[0] * 127, 0.95F);
}

TEST(KlObserver, StaysWithinWhatWasSeen) {
  at::manual_seed(3);
  const at::Tensor x = at::rand({5000});
  const QParams found = observed("kl", "uint8 affine tensor", {x});
  EXPECT_EQ(found.zero_point[0], 0);  // nothing below zero: [0, t]
  EXPECT_LE(found.scale[0] * 255, 1.0F);
}

// What a Relu gives is half zeros, or nearly all: they are exact whatever the clip, and must not decide it. Counted
// with the rest they clip at the fewest bins, 128 of 2048: a sixteenth of the range.
TEST(KlObserver, ZerosDoNotMoveTheClip) {
  at::manual_seed(6);
  const at::Tensor x = at::randn({200000}).relu();
  const QParams found = observed("kl", "uint8 affine tensor", {x});
  EXPECT_GT(found.scale[0] * 255, 0.6F * x.max().item<float>());
  EXPECT_EQ(found, observed("kl", "uint8 affine tensor", {x, at::zeros({1000000})}));
}

// A Relu6: peaks at both ends. The upper one lies inside, it is not an outlier.
TEST(KlObserver, KeepsThePeakOfAClamp) {
  at::manual_seed(7);
  const at::Tensor x = (at::randn({200000}) * 3).clamp(0, 6);
  EXPECT_GT(observed("kl", "uint8 affine tensor", {x}).scale[0] * 255, 5.9F);
}

TEST(KlObserver, TakesTheLevelsOfTheScheme) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({50000});
  EXPECT_EQ(observed("kl", "int4 symmetric tensor", {x}),
            observed("kl", "int4 symmetric tensor", {x}, {{"levels", 8.0}}));
  // An affine scheme spends all codes on one sign where there is only one.
  EXPECT_EQ(observed("kl", "uint4 affine tensor", {x.abs()}),
            observed("kl", "uint4 affine tensor", {x.abs()}, {{"levels", 16.0}}));
  const at::Tensor lopsided = at::where(x.lt(0), x.clamp_min(-1), x.clamp_max(3));  // 16 x 3 / (3 + 1) = 12
  EXPECT_EQ(observed("kl", "uint4 affine tensor", {lopsided}),
            observed("kl", "uint4 affine tensor", {lopsided}, {{"levels", 12.0}}));
  EXPECT_NE(
      message_of([] { observer_of("kl", "int8", {{"bins", 64.0}, {"levels", 128.0}}); }).find("number of bins (64)"),
      std::string::npos);
}

// The search is linear in the bins: as many as there may be do not take minutes.
TEST(KlObserver, TakesTheMostBins) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({50000});
  EXPECT_LE(observed("kl", "int8 symmetric tensor narrow", {x}, {{"bins", 65536.0}}).scale[0] * 127,
            x.abs().max().item<float>() * 1.0001F);
}

TEST(KlObserver, RefusesLevelsThatAreNoCount) {
  for (const double levels : {1e300, -1.0, 2.5, 1e10, static_cast<double>(NAN)})
    EXPECT_NE(
        message_of([&] { observer_of("kl", "int8", {{"levels", levels}}); }).find("levels must be a whole number"),
        std::string::npos)
        << levels;
}

}  // namespace
}  // namespace quench

// Statistics found ahead, for many tensors together, are those that each would have given.
#include "kernels/statistics/ahead.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quench/observer.h"

namespace quench {
namespace {

using at::Tensor;

#define NEEDS_CUDA() \
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device"

// Long and short, of a Relu, with one value, at an odd address, channels last.
std::vector<Tensor> tensors(int seed) {
  at::manual_seed(seed);
  const Tensor odd = at::randn({70001}).cuda();
  return {at::randn({3, 5, 7, 11}).cuda(),
          at::relu(at::randn({2, 16, 200, 100}) * 5).cuda(),
          at::full({9}, 2.5F).cuda(),
          odd.slice(0, 1),
          at::randn({2, 8, 6, 4}).cuda().contiguous(at::MemoryFormat::ChannelsLast),
          at::randn({1}).cuda()};
}

TEST(Ahead, RangesAreThoseOfEachTensor) {
  NEEDS_CUDA();
  Ahead ahead;
  const std::vector<Tensor> all = tensors(1);
  ahead.look(all);
  for (const Tensor& x : all) {
    Tensor min, max;
    min_max(x, QScheme(), min, max);
    EXPECT_TRUE(min.is_cpu());
    EXPECT_EQ(min.item<float>(), x.min().item<float>());
    EXPECT_EQ(max.item<float>(), x.max().item<float>());
  }
  EXPECT_EQ(ahead.answered(), static_cast<std::int64_t>(all.size()));
}

TEST(Ahead, NaNAndInfinitiesAreFound) {
  NEEDS_CUDA();
  Ahead ahead;
  const Tensor broken = at::randn({100000}).cuda(), infinite = at::randn({10}).cuda();
  broken.select(0, 77777).fill_(NAN);
  infinite.select(0, 3).fill_(-INFINITY);
  ahead.look({broken, infinite});
  Tensor min, max;
  min_max(broken, QScheme(), min, max);
  EXPECT_TRUE(std::isnan(min.item<float>()) && std::isnan(max.item<float>()));
  min_max(infinite, QScheme(), min, max);
  EXPECT_EQ(min.item<float>(), -INFINITY);
}

TEST(Ahead, ForgottenTensorsAreLookedAtAgain) {
  NEEDS_CUDA();
  Ahead ahead;
  const Tensor x = at::randn({1000}).cuda(), other = x.slice(0, 0, 500);
  ahead.look({x});
  Tensor min, max;
  min_max(other, QScheme(), min, max);
  EXPECT_TRUE(min.is_cuda()) << "the first half is another tensor";
  ahead.forget();
  min_max(x, QScheme(), min, max);
  EXPECT_TRUE(min.is_cuda());
  EXPECT_EQ(ahead.answered(), 0);
}

Tensor counts_of(const Tensor& x, float low, float high, const HistogramArgs& like) {
  const Tensor from = at::tensor({low}), to = at::tensor({high});
  return histogram(x, {like.scheme, from, to, like.bins, like.absolute, like.grid}).cpu();
}

// The first call learns the bounds, the second answers; other bounds are counted anew.
TEST(Ahead, HistogramsAreThoseOfEachTensor) {
  NEEDS_CUDA();
  const QScheme scheme;
  const Tensor none = at::zeros({1});
  Ahead ahead;
  for (const bool grid : {false, true}) {
    const HistogramArgs args{scheme, none, none, 300, grid, grid};
    const float high = grid ? 0.03125F : 4.0F, low = grid ? 0.0F : -3.0F;
    for (int round = 0; round < 3; ++round) {
      const std::vector<Tensor> all = tensors(round);
      ahead.look(all);
      const std::int64_t before = ahead.answered();
      for (const Tensor& x : all) {
        const HistogramArgs plain{scheme, at::tensor({low}), at::tensor({high}), 300, grid, grid};
        EXPECT_TRUE(at::equal(counts_of(x, low, high, args), histogram_ref(x.cpu(), plain))) << round;
      }
      EXPECT_EQ(ahead.answered() - before, round == 0 ? 0 : static_cast<std::int64_t>(all.size()));
      EXPECT_TRUE(
          at::equal(counts_of(all[0], low, high * 2, args),
                    histogram_ref(all[0].cpu(), {scheme, at::tensor({low}), at::tensor({high * 2}), 300, grid, grid})));
      counts_of(all[0], low, high, args);  // what is asked for last is expected next time
    }
  }
}

// Every observer, as calibration shows it batch after batch.
class AheadOf : public testing::TestWithParam<std::string> {};

TEST_P(AheadOf, GivesTheSameScales) {
  NEEDS_CUDA();
  if (!ObserverRegistry::instance().get(GetParam()).needs_data) return;
  const QScheme scheme = QScheme::parse("int8 symmetric tensor");
  const auto plain = make_observer(GetParam(), scheme), seeing_ahead = make_observer(GetParam(), scheme);
  Ahead ahead;
  for (int batch = 0; batch < 5; ++batch) {
    const Tensor x = (at::randn({4, 5, 30, 17}) * (1 + batch % 3)).cuda();
    plain->observe(x);
    ahead.look({x});
    seeing_ahead->observe(x);
    ahead.forget();
  }
  EXPECT_GE(ahead.answered(), 5);
  EXPECT_EQ(plain->qparams().scale, seeing_ahead->qparams().scale);
}

INSTANTIATE_TEST_SUITE_P(All, AheadOf, testing::ValuesIn(ObserverRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench

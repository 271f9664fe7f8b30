#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

// The search as MQBench describes it, in double and with no other code of ours: the best of `candidates` ranges.
struct Range {
  float min, max;
};
Range best_range(const at::Tensor& x, double qmin, double qmax, bool symmetric, int candidates, double power) {
  const at::Tensor flat = x.flatten().contiguous();
  const auto* data = flat.const_data_ptr<float>();
  const auto min = flat.min().item<float>(), max = flat.max().item<float>();
  Range best{min, max};
  double least = INFINITY;
  for (int k = 0; k < candidates; ++k) {
    const auto factor = static_cast<float>(1 - 0.01 * k);
    const double low = std::min(min * factor, 0.0F), high = std::max(max * factor, 0.0F);
    const double scale =
        static_cast<float>(symmetric ? std::max(-low, high) / ((qmax - qmin) / 2) : (high - low) / (qmax - qmin));
    const double zero = symmetric ? 0 : std::clamp(qmin - std::nearbyint(low / scale), qmin, qmax);
    double sum = 0;
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const double code = std::clamp(std::nearbyint(data[i] / scale) + zero, qmin, qmax);
      sum += std::pow(std::abs((code - zero) * scale - data[i]), power);
    }
    if (sum < least) {
      least = sum;
      best = {min * factor, max * factor};
    }
  }
  return best;
}

QParams params_of(const char* scheme, const Range& range) {
  return qparams_of_range(QScheme::parse(scheme), {range.min}, {range.max});
}

const Options kOnBatch = {{"on", std::string("batch")}};

TEST(MseObserver, OnABatchIsTheReferencesSearch) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({3000}) * at::rand({3000});
  EXPECT_EQ(observed("mse", "int4 symmetric tensor", {x}, kOnBatch),
            params_of("int4 symmetric tensor", best_range(x, -8, 7, true, 95, 2.0)));
  EXPECT_EQ(observed("mse", "uint4 affine tensor", {x + 0.2}, kOnBatch),
            params_of("uint4 affine tensor", best_range(x + 0.2, 0, 15, false, 95, 2.0)));
  EXPECT_EQ(observed("mse", "int2 symmetric tensor", {x}, {{"on", std::string("batch")}, {"p", 2.4}}),
            params_of("int2 symmetric tensor", best_range(x, -2, 1, true, 95, 2.4)));
}

TEST(MseObserver, TriesEightyRangesAChannel) {
  // Almost all values tiny, and a power that hardly minds the one large error: the least range wins, 0.21 of the
  // whole per channel, 0.06 per tensor.
  at::manual_seed(2);
  const at::Tensor x = at::cat({at::randn({20000}) * 1e-3, at::full({1}, 1.0F)}).reshape({1, -1});
  const Options options = {{"on", std::string("batch")}, {"p", 0.5}};
  const float channel = observed("mse", "int8 symmetric channel:0 narrow", {x}, options).scale[0];
  const float tensor = observed("mse", "int8 symmetric tensor narrow", {x}, options).scale[0];
  EXPECT_GE(channel, 0.2099F / 127);
  EXPECT_LT(tensor, channel);
}

TEST(MseObserver, OnBatchesTakesTheUnionOfTheirRanges) {
  at::manual_seed(3);
  const std::vector<at::Tensor> batches = {at::randn({500}), at::randn({500}) * 2, at::randn({500})};
  Range all{0, 0};
  for (const at::Tensor& batch : batches) {
    const Range one = best_range(batch, 0, 15, false, 95, 2.0);
    all = {std::min(all.min, one.min), std::max(all.max, one.max)};
  }
  EXPECT_EQ(observed("mse", "uint4 affine tensor", batches, kOnBatch), params_of("uint4 affine tensor", all));
  EXPECT_EQ(merged("mse", "uint4 affine tensor", batches, kOnBatch), params_of("uint4 affine tensor", all));
}

TEST(EmaMseObserver, OnBatchesAveragesTheirRanges) {
  at::manual_seed(4);
  const at::Tensor first = at::randn({500}), second = at::randn({500}) * 2;
  const Range a = best_range(first, -8, 7, true, 95, 2.0), b = best_range(second, -8, 7, true, 95, 2.0);
  const float ratio = 0.8F;
  EXPECT_EQ(
      observed("ema_mse", "int4 symmetric tensor", {first, second}, {{"on", std::string("batch")}, {"ema_ratio", 0.8}}),
      params_of("int4 symmetric tensor",
                {a.min * ratio + b.min * (1.0F - ratio), a.max * ratio + b.max * (1.0F - ratio)}));
}

// D16: the optimum of the whole set, not the union of the optima of its batches.
TEST(MseObserver, OnAHistogramIsTheOptimumOfAllBatches) {
  at::manual_seed(5);
  std::vector<at::Tensor> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(at::randn({2000}) * (i == 7 ? 4 : 1));
  const at::Tensor all = at::cat(batches);
  const QScheme scheme = QScheme::parse("int4 symmetric tensor");
  const double least = error_of(all, params_of("int4 symmetric tensor", best_range(all, -8, 7, true, 95, 2.0)), scheme);
  const double found = error_of(all, observed("mse", "int4 symmetric tensor", batches), scheme);
  const double of_batches = error_of(all, observed("mse", "int4 symmetric tensor", batches, kOnBatch), scheme);
  EXPECT_LE(found, least * 1.01);
  EXPECT_GT(of_batches, least * 1.05);
  EXPECT_LE(error_of(all, merged("mse", "int4 symmetric tensor", batches), scheme), least * 1.01);
}

TEST(MseObserver, OnAHistogramSearchesBothEndsOfAffineRanges) {
  at::manual_seed(6);
  const at::Tensor x = at::cat({at::rand({50000}) * 2 - 1, at::rand({10}) * 9 + 1});
  const QScheme scheme = QScheme::parse("uint4 affine tensor");
  EXPECT_LT(error_of(x, observed("mse", "uint4 affine tensor", {x}), scheme),
            0.9 * error_of(x, observed("mse", "uint4 affine tensor", {x}, kOnBatch), scheme));
}

// D16: the power of two that is used is the one that is judged.
TEST(MseObserver, JudgesPowersOfTwo) {
  at::manual_seed(7);
  const at::Tensor x = at::randn({20000});
  const QScheme scheme = QScheme::parse("int4 symmetric tensor pot");
  double least = INFINITY;
  for (int e = 0; e < 6; ++e) least = std::min(least, error_of(x, {{std::ldexp(1.0F, -e)}, {0}}, scheme));
  for (const char* on : {"histogram", "batch"})
    EXPECT_EQ(error_of(x, observed("mse", scheme.text(), {x}, {{"on", std::string(on)}}), scheme), least) << on;
}

TEST(EmaMseObserver, OnAHistogramForgetsOldBatches) {
  at::manual_seed(8);
  std::vector<at::Tensor> batches(30, at::randn({4000}));
  const Options options = {{"ema_ratio", 0.5}};
  const QParams small = observed("ema_mse", "int4 symmetric tensor", batches, options);
  batches.front() = batches.front() * 3;  // weighs 0.5^29 in the end
  const QParams found = observed("ema_mse", "int4 symmetric tensor", batches, options);
  // The grid depends on the whole range, three times as wide: 0.03 of the small one per step.
  EXPECT_NEAR(found.scale[0], small.scale[0], 0.15 * small.scale[0]);
  EXPECT_GT(observed("mse", "int4 symmetric tensor", {batches[0], batches[1]}).scale[0], 1.3 * small.scale[0]);
}

TEST(MseObserver, RefusesWhatMakesNoSense) {
  EXPECT_NE(
      message_of([] { observer_of("mse", "int8", {{"on", std::string("batches")}}); }).find("did you mean 'batch'"),
      std::string::npos);
  EXPECT_NE(message_of([] { observer_of("mse", "int8", {{"p", 0.0}}); }).find("must be positive"), std::string::npos);
  EXPECT_NE(message_of([] { observer_of("mse", "int8", {{"bins", 1.5}}); }).find("whole number"), std::string::npos);
  EXPECT_NE(message_of([] {
              observer_of("mse", "int8 group:1:1", {{"bins", 65536.0}})->observe(at::zeros({64, 64}));
            }).find("use fewer bins"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

struct BatchNorm {
  at::Tensor x = at::randn({4, 3, 5, 5}), scale = at::rand({3}), bias = at::randn({3});
  at::Tensor mean = at::randn({3}), variance = at::rand({3}) + 0.5;
  std::vector<RtValue> inputs() const { return {x, scale, bias, mean, variance}; }
};

TEST(BatchNormalization, EvaluatesByTheRunningStatistics) {
  const BatchNorm bn;
  const auto shaped = [](const at::Tensor& t) { return t.reshape({1, 3, 1, 1}); };
  const at::Tensor expected =
      (bn.x - shaped(bn.mean)) / (shaped(bn.variance) + 1e-5).sqrt() * shaped(bn.scale) + shaped(bn.bias);
  EXPECT_LT(distance(run_checked("BatchNormalization", bn.inputs()), expected), 1e-5);
}

// Bit for bit what torch::nn::BatchNorm2d does with momentum 0.1, which a file holds as the float 0.9.
TEST(BatchNormalization, TrainsAsLibTorchDoes) {
  const BatchNorm bn;
  at::Tensor mean = bn.mean.clone(), variance = bn.variance.clone(), counter = at::zeros({}, at::kLong);
  const at::Tensor expected = at::batch_norm(bn.x, bn.scale, bn.bias, mean, variance, true, 0.1, 1e-5, true);
  CheckedOp run{"BatchNormalization", {{"momentum", static_cast<double>(0.9F)}}};
  run.attrs["epsilon"] = 1e-5;
  run.attrs["quench.num_batches_tracked"] = make_tensor_attr(counter);
  run.training = true;
  EXPECT_TRUE(at::equal(run.result(bn.inputs()), expected));
  EXPECT_TRUE(at::equal(bn.mean, mean));
  EXPECT_TRUE(at::equal(bn.variance, variance));
  EXPECT_EQ(counter.item<std::int64_t>(), 1);
}

TEST(BatchNormalization, DoesNotTrainWhenFrozen) {
  const BatchNorm bn;
  const at::Tensor before = bn.mean.clone();
  const at::Tensor evaluated = run_checked("BatchNormalization", bn.inputs());
  CheckedOp run{"BatchNormalization", {}};
  run.training = run.frozen = true;
  EXPECT_TRUE(at::equal(run.result(bn.inputs()), evaluated));
  EXPECT_TRUE(at::equal(bn.mean, before));
}

TEST(BatchNormalization, TrainingModeReturnsTheNewStatistics) {
  const BatchNorm bn;
  const at::Tensor before = bn.mean.clone();
  const auto results = CheckedOp{"BatchNormalization", {{"training_mode", std::int64_t{1}}}, 3}(bn.inputs());
  EXPECT_LT(distance(results[1].tensor(), bn.mean * 0.9 + bn.x.mean({0, 2, 3}) * 0.1), 1e-6);
  EXPECT_LT(distance(results[2].tensor(), bn.variance * 0.9 + bn.x.var(at::IntArrayRef{0, 2, 3}, false) * 0.1), 1e-6);
  EXPECT_TRUE(at::equal(bn.mean, before));
}

TEST(BatchNormalization, TakesHalfDataWithFloatStatistics) {
  BatchNorm bn;
  const at::Tensor expected = run_checked("BatchNormalization", bn.inputs());
  bn.x = bn.x.to(at::kHalf);
  const at::Tensor y = run_checked("BatchNormalization", bn.inputs());
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_LT(distance(y, expected), 0.02);
}

TEST(LayerNormalization, GivesMeanAndInverseDeviation) {
  const at::Tensor x = at::randn({2, 3, 4}), scale = at::rand({3, 4}), bias = at::randn({3, 4});
  const auto results = CheckedOp{"LayerNormalization", {{"axis", std::int64_t{1}}}, 3}({x, scale, bias});
  const at::Tensor mean = x.mean({1, 2}, true), variance = x.var(at::IntArrayRef{1, 2}, false, true);
  EXPECT_LT(distance(results[0].tensor(), (x - mean) / (variance + 1e-5).sqrt() * scale + bias), 1e-5);
  EXPECT_LT(distance(results[1].tensor(), mean), 1e-6);
  EXPECT_LT(distance(results[2].tensor(), (variance + 1e-5).rsqrt()), 1e-4);
}

TEST(LayerNormalization, BroadcastsItsScaleAndTakesHalf) {
  const at::Tensor x = at::randn({2, 3, 4}), scale = at::rand({4});
  const at::Tensor y = run_checked("LayerNormalization", {x, scale}, {{"axis", std::int64_t{1}}});
  EXPECT_LT(distance(y, at::layer_norm(x, {3, 4}) * scale), 1e-5);
  const auto half = CheckedOp{"LayerNormalization", {}, 3}({x.to(at::kHalf), scale.to(at::kHalf)});
  EXPECT_EQ(half[1].dtype(), DType::kFloat);
  EXPECT_LT(distance(half[0].tensor(), at::layer_norm(x, {4}, scale)), 0.01);
}

TEST(Norm, FollowsEachDefinition) {
  const at::Tensor x = at::randn({2, 4, 3, 3}), scale = at::rand({4}), bias = at::randn({4});
  const at::Tensor rms = run_checked("RMSNormalization", {x, at::rand({3}).fill_(2.0)});
  EXPECT_LT(distance(rms, x * (x.square().mean(-1, true) + 1e-5).rsqrt() * 2), 1e-5);
  EXPECT_LT(distance(run_checked("GroupNormalization", {x, scale, bias}, {{"num_groups", std::int64_t{2}}}),
                     at::group_norm(x, 2, scale, bias, 1e-5)),
            1e-5);
  EXPECT_LT(distance(run_checked("InstanceNormalization", {x, scale, bias}), at::group_norm(x, 4, scale, bias, 1e-5)),
            1e-5);
  EXPECT_LT(distance(run_checked("LpNormalization", {x}, {{"p", std::int64_t{1}}, {"axis", std::int64_t{1}}}),
                     x / x.abs().sum(1, true)),
            1e-6);
  EXPECT_EQ(distance(run_checked("LpNormalization", {at::zeros({2, 3})}), at::zeros({2, 3})), 0.0);
  const at::Tensor mvn = run_checked("MeanVarianceNormalization", {x});
  EXPECT_LT(mvn.mean({0, 2, 3}).abs().max().item<double>(), 1e-5);
}

TEST(LRN, SumsOverNeighbouringChannels) {
  const at::Tensor x = at::randn({1, 5, 2, 2}, at::kDouble);
  const Attrs attrs{{"size", std::int64_t{4}}, {"alpha", 0.5}, {"beta", 0.6}, {"bias", 2.0}};
  const at::Tensor y = run_checked("LRN", {x}, attrs);
  for (std::int64_t c = 0; c < 5; ++c) {
    const std::int64_t from = std::max<std::int64_t>(c - 1, 0), to = std::min<std::int64_t>(c + 2, 4);
    const at::Tensor sum = x.narrow(1, from, to - from + 1).square().sum(1);
    EXPECT_LT(distance(y.select(1, c), x.select(1, c) / (sum * 0.125 + 2).pow(0.6)), 1e-12);
  }
}

TEST(Norm, HasItsGradient) {
  const auto random = [](Ints shape) { return at::randn(shape, at::kDouble); };
  const at::Tensor x = random({3, 4, 3, 2}), scale = random({4}), bias = random({4});
  CheckedOp bn{"BatchNormalization", {}};
  const std::vector<RtValue> bn_inputs{x, scale, bias, random({4}), at::rand({4}, at::kDouble)};
  EXPECT_LT(gradient_error(bn, bn_inputs, 3), 1e-6);
  bn.training = true;
  EXPECT_LT(gradient_error(bn, bn_inputs, 3), 1e-6);
  EXPECT_LT(gradient_error({"LayerNormalization", {}}, {x, random({2}), random({2})}, 3), 1e-6);
  EXPECT_LT(gradient_error({"LayerNormalization", {{"axis", std::int64_t{1}}}}, {x, random({2})}, 2), 1e-6);
  EXPECT_LT(gradient_error({"RMSNormalization", {}}, {x, random({2})}, 2), 1e-6);
  EXPECT_LT(gradient_error({"InstanceNormalization", {}}, {x, scale, bias}, 3), 1e-6);
  EXPECT_LT(gradient_error({"GroupNormalization", {{"num_groups", std::int64_t{2}}}}, {x, scale, bias}, 3), 1e-6);
  EXPECT_LT(gradient_error({"LRN", {{"size", std::int64_t{3}}}}, {x}, 1), 1e-6);
}

}  // namespace
}  // namespace quench

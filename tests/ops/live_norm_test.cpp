#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr double kEpsilon = 0.03;  // large: k has its gradient from it alone
constexpr std::int64_t kChannels = 5;

CheckedOp live_norm(bool training) {
  return {.op = "quench.LiveNorm",
          .attrs = {{"epsilon", kEpsilon}, {"momentum", 0.75}},
          .training = training,
          .grad = training};
}

// x, gamma, beta, mean, variance, k, b, c.
std::vector<at::Tensor> samples(at::ScalarType type = at::kDouble) {
  at::manual_seed(5);
  const auto some = [&] { return at::randn({kChannels}, type); };
  const at::Tensor k = at::tensor({0.5, -2.0, 1.0, -0.25, 3.0}).to(type).reshape({1, kChannels, 1, 1});
  return {at::randn({4, kChannels, 3, 2}, type), some(), some(), some(), some().square() + 0.5, k, some(), some()};
}

std::vector<RtValue> values(const std::vector<at::Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

at::Tensor spread(const at::Tensor& channels) { return channels.reshape({1, -1, 1, 1}); }

// The steps that it stands for, in LibTorch.
at::Tensor in_steps(const std::vector<at::Tensor>& in, bool training) {
  const at::Tensor y = (in[0] - spread(in[7])) / in[5] + spread(in[6]);
  return at::batch_norm(y, in[1], in[2], in[3], in[4], training, 0.25, kEpsilon, false);
}

std::vector<at::Tensor> learning(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    copies.push_back(tensors[i].clone());
    if (i != 3 && i != 4) copies.back().requires_grad_();
  }
  return copies;
}

// Double throughout: a few hundred operations on numbers of at most some tens.
constexpr double kTolerance = 1e-11;

TEST(LiveNorm, IsTheStepsThatItStandsFor) {
  for (const bool training : {false, true}) {
    const std::vector<at::Tensor> fused = learning(samples()), steps = learning(samples());
    CheckedOp op = live_norm(training);
    op.grad = true;
    const at::Tensor z = op.result(values(fused)), expected = in_steps(steps, training);
    EXPECT_LT(distance(z, expected), kTolerance);
    EXPECT_LT(distance(fused[3], steps[3]), kTolerance) << "running mean";
    EXPECT_LT(distance(fused[4], steps[4]), kTolerance) << "running variance";
    EXPECT_EQ(at::equal(fused[4], samples()[4]), !training);
    const at::Tensor dz = at::randn_like(z);
    z.backward(dz);
    expected.backward(dz);
    for (const std::size_t i : {0, 1, 2, 5, 6}) {
      EXPECT_LT(distance(fused[i].grad(), steps[i].grad()), kTolerance) << training << " input " << i;
    }
    if (training) {
      EXPECT_GT(steps[5].grad().abs().max().item<double>(), 1e-3) << "the gradient of k shows nothing";
      EXPECT_TRUE(at::equal(fused[6].grad(), at::zeros({kChannels}, at::kDouble))) << "the batch's mean takes b off";
    } else {
      EXPECT_LT(distance(fused[7].grad(), steps[7].grad()), kTolerance);
    }
  }
}

// Floats go through fused loops: a few hundred operations in float.
TEST(LiveNorm, IsTheSameInFloat) {
  const std::vector<at::Tensor> fused = learning(samples(at::kFloat)), steps = learning(samples(at::kFloat));
  CheckedOp op = live_norm(true);
  op.grad = true;
  const at::Tensor z = op.result(values(fused)), expected = in_steps(steps, true);
  EXPECT_LT(distance(z, expected), 1e-5);
  EXPECT_LT(distance(fused[3], steps[3]), 1e-5) << "running mean";
  EXPECT_LT(distance(fused[4], steps[4]), 1e-5) << "running variance";
  const at::Tensor dz = at::randn_like(z);
  z.backward(dz);
  expected.backward(dz);
  for (const std::size_t i : {0, 1, 2, 5, 6})
    EXPECT_LT(distance(fused[i].grad(), steps[i].grad()), 1e-4) << "input " << i;
}

TEST(LiveNorm, HasTheGradientsOfItsFormulaWithoutBiases) {
  std::vector<at::Tensor> in = samples();
  in.resize(6);
  // In training mode every evaluation moves the running statistics, which batch statistics do not read. Central
  // differences of step 1e-6: errors of order 1e-12 over 1e-6.
  EXPECT_LT(gradient_error(live_norm(true), values(in), 3), 1e-5);
}

TEST(LiveNorm, TakesEitherBiasAlone) {
  for (const std::size_t absent : {6, 7})
    for (const bool training : {false, true}) {
      std::vector<at::Tensor> in = samples(), steps = samples();
      steps[absent].zero_();
      std::vector<RtValue> given = values(in);
      given[absent] = RtValue();
      EXPECT_LT(distance(live_norm(training).result(given), in_steps(steps, training)), kTolerance);
      EXPECT_LT(distance(in[3], steps[3]), kTolerance) << "running mean";
    }
}

TEST(LiveNorm, FrozenUsesRunningStatistics) {
  CheckedOp op = live_norm(true);
  op.frozen = true;
  const std::vector<at::Tensor> in = samples();
  EXPECT_LT(distance(op.result(values(in)), in_steps(samples(), false)), kTolerance);
  EXPECT_TRUE(at::equal(in[3], samples()[3])) << "frozen statistics moved";
}

TEST(LiveNorm, TakesReducedDataBesideFloatStatistics) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16})
    for (const bool training : {false, true}) {
      std::vector<at::Tensor> in = samples(at::kFloat), steps = samples(at::kDouble);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = steps[i].to(at::kFloat);
      in[0] = in[0].to(type).contiguous(at::MemoryFormat::ChannelsLast);
      steps[0] = in[0].to(at::kDouble);
      in[0].requires_grad_();
      steps[0].requires_grad_();
      CheckedOp op = live_norm(training);
      op.grad = true;
      const at::Tensor z = op.result(values(in)), expected = in_steps(steps, training);
      EXPECT_EQ(z.scalar_type(), type);
      EXPECT_TRUE(z.is_contiguous(at::MemoryFormat::ChannelsLast));
      // z of at most 16, rounded to 8 bits (bfloat16).
      EXPECT_LT(distance(z, expected), 16.0 / 256);
      EXPECT_LT(distance(in[4], steps[4]), 1e-5) << "the running variance is float";
      z.backward(at::ones_like(z) + z.detach());
      EXPECT_EQ(in[0].grad().scalar_type(), type);
      EXPECT_TRUE(in[0].grad().is_contiguous(at::MemoryFormat::ChannelsLast));
    }
}

TEST(LiveNorm, CountsBatchesInTraining) {
  CheckedOp op = live_norm(true);
  const at::Tensor counter = at::zeros({}, at::kLong);
  op.attrs["quench.num_batches_tracked"] = make_tensor_attr(counter);
  op.result(values(samples()));
  const auto once = counter.item<std::int64_t>();
  EXPECT_GT(once, 0);
  op.training = false;
  op.result(values(samples()));
  EXPECT_EQ(counter.item<std::int64_t>(), once);
}

std::string error_with(std::size_t slot, const at::Tensor& tensor) {
  std::vector<at::Tensor> in = samples();
  in[slot] = tensor;
  return error_of(live_norm(true), values(in));
}

TEST(LiveNorm, RefusesWhatDoesNotFit) {
  const auto expect = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect(error_with(0, at::ones({4}, at::kDouble)), "has no channels");
  expect(error_with(5, at::ones({4}, at::kDouble)), "input 5 has 4 elements for 5 channels");
  expect(error_with(3, at::ones({5})), "input 3 is Float beside data of Double");
  expect(error_with(0, at::ones({1, 5}, at::kDouble)), "training needs more than one value per channel");
}

}  // namespace
}  // namespace quench

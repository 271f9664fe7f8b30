#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/checked_op.h"

namespace quench {
namespace {

at::Tensor random(std::vector<std::int64_t> shape) { return at::randn(shape, at::kDouble); }
const Attr kOn = std::int64_t{1};

TEST(Attention, IsScaledDotProduct) {
  const at::Tensor q = random({2, 3, 4, 8}), k = random({2, 3, 6, 8}), v = random({2, 3, 6, 5});
  EXPECT_LT(distance(run_checked("Attention", {q, k, v}),
                     at::softmax(at::matmul(q, k.transpose(2, 3)) / std::sqrt(8.0), -1).matmul(v)),
            1e-12);
  const at::Tensor mask = random({4, 6});
  EXPECT_LT(distance(run_checked("Attention", {q, k, v, mask}),
                     at::softmax(at::matmul(q, k.transpose(2, 3)) / std::sqrt(8.0) + mask, -1).matmul(v)),
            1e-12);
  EXPECT_LT(gradient_error({"Attention", {{"is_causal", kOn}}}, {q, k, v}, 3), 1e-6);
}

// With a cache, the last queries of a causal run must come out as in one run over all.
TEST(Attention, CausalRunsContinueFromACache) {
  const at::Tensor q = random({1, 2, 6, 4}), k = random({1, 2, 6, 4}), v = random({1, 2, 6, 4});
  const at::Tensor whole = run_checked("Attention", {q, k, v}, {{"is_causal", kOn}});
  const auto part = CheckedOp{"Attention", {{"is_causal", kOn}}, 3}(
      {q.narrow(2, 4, 2), k.narrow(2, 4, 2), v.narrow(2, 4, 2), RtValue(), k.narrow(2, 0, 4), v.narrow(2, 0, 4)});
  EXPECT_LT(distance(part[0].tensor(), whole.narrow(2, 4, 2)), 1e-12);
  EXPECT_TRUE(at::equal(part[1].tensor(), k));
}

TEST(Attention, SharesKeyHeadsAndTakesThreeDims) {
  const at::Tensor q = random({2, 5, 4 * 8}), k = random({2, 6, 2 * 8}), v = random({2, 6, 2 * 3});
  const at::Tensor y =
      run_checked("Attention", {q, k, v}, {{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  EXPECT_EQ(y.sizes(), (std::vector<std::int64_t>{2, 5, 12}));
  const auto head = [](const at::Tensor& t, std::int64_t i, std::int64_t size) { return t.narrow(2, i * size, size); };
  const at::Tensor third = at::softmax(head(q, 2, 8).matmul(head(k, 1, 8).transpose(1, 2)) / std::sqrt(8.0), -1);
  EXPECT_LT(distance(head(y, 2, 3), third.matmul(head(v, 1, 3))), 1e-12);
}

TEST(Attention, AQueryThatMaySeeNothingGetsZeros) {
  const at::Tensor q = random({1, 1, 2, 4}), k = random({1, 1, 3, 4}), v = random({1, 1, 3, 4});
  const at::Tensor mask = at::zeros({2, 3}, at::kBool).index_fill(0, at::tensor({1}, at::kLong), true);
  const at::Tensor y = run_checked("Attention", {q, k, v, mask});
  EXPECT_EQ(y[0][0][0].abs().sum().item<double>(), 0.0);
  EXPECT_GT(y[0][0][1].abs().sum().item<double>(), 0.0);
}

TEST(RotaryEmbedding, TurnsPairsAndKeepsTheirLength) {
  const at::Tensor x = random({2, 3, 5, 8}), angles = random({10, 4});
  const at::Tensor positions = at::arange(5, at::kLong).expand({2, 5});
  for (const std::int64_t interleaved : {0, 1}) {
    const at::Tensor y =
        run_checked("RotaryEmbedding", {x, angles.cos(), angles.sin(), positions}, {{"interleaved", interleaved}});
    EXPECT_LT(distance(y.square().sum(-1), x.square().sum(-1)), 1e-9);
    const at::Tensor back =
        run_checked("RotaryEmbedding", {y, angles.cos(), -angles.sin(), positions}, {{"interleaved", interleaved}});
    EXPECT_LT(distance(back, x), 1e-9);
  }
}

TEST(Einsum, SumsOverNamedDims) {
  const at::Tensor a = random({3, 4, 5}), b = random({3, 5, 6});
  EXPECT_LT(distance(run_checked("Einsum", {a, b}, {{"equation", "bij, bjk -> bik"}}), at::bmm(a, b)), 1e-12);
  EXPECT_LT(distance(run_checked("Einsum", {a}, {{"equation", "...j->..."}}), a.sum(-1)), 1e-12);
  const at::Tensor square = random({4, 4});
  EXPECT_LT(distance(run_checked("Einsum", {square}, {{"equation", "ii->"}}), square.trace()), 1e-12);
  EXPECT_LT(gradient_error({"Einsum", {{"equation", "bij,bjk->bik"}}}, {a, b}, 2), 1e-6);
}

TEST(Loss, IgnoresAndWeighsClasses) {
  const at::Tensor x = random({4, 3, 2}), weight = at::rand({3}, at::kDouble);
  const at::Tensor labels = at::tensor({0, 1, 2, 2, 1, 0, 1, 1}, at::kInt).reshape({4, 2});
  const Attrs attrs{{"ignore_index", std::int64_t{2}}};
  const auto results = CheckedOp{"SoftmaxCrossEntropyLoss", attrs, 2}({x, labels, weight});
  double sum = 0.0, total = 0.0;
  const at::Tensor log_p = at::log_softmax(x, 1);
  for (std::int64_t n = 0; n < 4; ++n)
    for (std::int64_t d = 0; d < 2; ++d) {
      const auto label = labels[n][d].item<std::int64_t>();
      if (label == 2) continue;
      sum -= log_p[n][label][d].item<double>() * weight[label].item<double>();
      total += weight[label].item<double>();
    }
  EXPECT_NEAR(results[0].tensor().item<double>(), sum / total, 1e-12);
  EXPECT_LT(distance(results[1].tensor(), log_p), 1e-12);
  Attrs none = attrs;
  none["reduction"] = "none";
  EXPECT_EQ(run_checked("NegativeLogLikelihoodLoss", {log_p, labels}, none).sizes(), labels.sizes());
  EXPECT_LT(gradient_error({"SoftmaxCrossEntropyLoss", {}}, {x, labels}, 1), 1e-6);
}

}  // namespace
}  // namespace quench

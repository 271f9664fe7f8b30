#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/checked_op.h"

namespace quench {
namespace {

// Batch 2, 3 tokens, 4 query heads over 2 key heads, keys of 3 numbers, values of 5. Sums of few doubles: 1e-12 is
// thousands of roundings.
struct Sizes {
  std::int64_t batch = 2, tokens = 3, q_heads = 4, kv_heads = 2, d_k = 3, d_v = 5;
};

at::Tensor random(std::vector<std::int64_t> shape) { return at::randn(shape, at::kDouble) * 0.5; }

Attrs attrs_of(const std::string& rule, double scale = 0.0) {
  const Sizes sizes;
  return {{"q_num_heads", sizes.q_heads}, {"kv_num_heads", sizes.kv_heads}, {"update_rule", rule}, {"scale", scale}};
}

struct Tensors {
  Sizes sizes;
  at::Tensor q = random({sizes.batch, sizes.tokens, sizes.q_heads* sizes.d_k});
  at::Tensor k = random({sizes.batch, sizes.tokens, sizes.kv_heads* sizes.d_k});
  at::Tensor v = random({sizes.batch, sizes.tokens, sizes.kv_heads* sizes.d_v});
  at::Tensor past = random({sizes.batch, sizes.kv_heads, sizes.d_k, sizes.d_v});
  at::Tensor decay = -random({sizes.batch, sizes.tokens, sizes.kv_heads* sizes.d_k}).abs();
  at::Tensor beta = at::rand({sizes.batch, sizes.tokens, sizes.kv_heads}, at::kDouble);
};

// Without gates the recurrence is causal attention without a softmax: o_t = scale sum over s <= t of (q_t k_s) v_s.
TEST(LinearAttention, IsCausalAttentionWithoutSoftmax) {
  const Tensors t;
  const Sizes& n = t.sizes;
  const auto results = CheckedOp{"LinearAttention", attrs_of("linear"), 2}({t.q, t.k, t.v});
  const auto heads = [&](const at::Tensor& x, std::int64_t count) {
    return x.reshape({n.batch, n.tokens, count, -1}).transpose(1, 2);
  };
  const at::Tensor k = heads(t.k, n.kv_heads).repeat_interleave(2, 1),
                   v = heads(t.v, n.kv_heads).repeat_interleave(2, 1);
  const at::Tensor scores = at::matmul(heads(t.q, n.q_heads), k.transpose(2, 3)).tril() / std::sqrt(3.0);
  const at::Tensor expected = at::matmul(scores, v).transpose(1, 2).reshape({n.batch, n.tokens, -1});
  EXPECT_LT(distance(results[0].tensor(), expected), 1e-12);
  EXPECT_LT(distance(results[1].tensor(), at::matmul(heads(t.k, 2).transpose(2, 3), heads(t.v, 2))), 1e-12);
}

// One run over all tokens, and one per token with the state handed on, come out alike for every rule.
TEST(LinearAttention, ContinuesFromAState) {
  const Tensors t;
  for (const std::string rule : {"linear", "gated", "delta", "gated_delta"}) {
    const bool gated = rule.rfind("gated", 0) == 0, delta = rule.find("delta") != std::string::npos;
    const CheckedOp op{"LinearAttention", attrs_of(rule, 0.7), 2};
    const RtValue decay = gated ? RtValue(t.decay) : RtValue(), beta = delta ? RtValue(t.beta) : RtValue();
    const auto whole = op({t.q, t.k, t.v, t.past, decay, beta});
    RtValue state = t.past;
    for (std::int64_t i = 0; i < t.sizes.tokens; ++i) {
      const auto token = [&](const at::Tensor& x) { return RtValue(x.narrow(1, i, 1)); };
      const auto one = op({token(t.q), token(t.k), token(t.v), state, gated ? token(t.decay) : RtValue(),
                           delta ? token(t.beta) : RtValue()});
      EXPECT_LT(distance(one[0].tensor(), whole[0].tensor().narrow(1, i, 1)), 1e-12) << rule;
      state = one[1];
    }
    EXPECT_LT(distance(state.tensor(), whole[1].tensor()), 1e-12) << rule;
  }
}

// With beta = 1 and a key of length 1, reading by the key just written gives the value back: the delta rule's purpose.
TEST(LinearAttention, TheDeltaRuleReplacesWhatAKeyHeld) {
  const at::Tensor k = at::tensor({1.0, 0.0, 1.0, 0.0}).reshape({1, 2, 2}), v = random({1, 2, 3});
  const Attrs attrs{
      {"q_num_heads", std::int64_t{1}}, {"kv_num_heads", std::int64_t{1}}, {"update_rule", "delta"}, {"scale", 1.0}};
  const at::Tensor y =
      run_checked("LinearAttention", {k, k, v, RtValue(), RtValue(), at::ones({1, 2, 1}, at::kDouble)}, attrs);
  EXPECT_LT(distance(y, v), 1e-12);
}

TEST(LinearAttention, HasGradientsAndTakesOneGateAHead) {
  const Tensors t;
  EXPECT_LT(gradient_error({"LinearAttention", attrs_of("gated_delta")}, {t.q, t.k, t.v, t.past, t.decay, t.beta}, 6),
            1e-6);
  const at::Tensor one = t.decay.narrow(2, 0, 1).expand({2, 3, 2}).contiguous();
  const at::Tensor each = t.decay.narrow(2, 0, 1).expand({2, 3, 6}).contiguous();
  const auto run = [&](const at::Tensor& decay) {
    return run_checked("LinearAttention", {t.q, t.k, t.v, t.past, decay}, attrs_of("gated"));
  };
  EXPECT_LT(distance(run(one), run(each)), 1e-12);
}

TEST(LinearAttention, SaysWhatIsMissing) {
  const Tensors t;
  const auto error = [&](const std::string& rule, std::vector<RtValue> inputs) {
    return error_of({"LinearAttention", attrs_of(rule), 2}, inputs);
  };
  EXPECT_NE(error("gated", {t.q, t.k, t.v}).find("update_rule 'gated' needs the input decay"), std::string::npos);
  EXPECT_NE(error("linear", {t.q, t.k, t.v, RtValue(), RtValue(), t.beta}).find("takes no input beta"),
            std::string::npos);
  EXPECT_NE(error("softmax", {t.q, t.k, t.v}).find("not one of linear, gated, delta"), std::string::npos);
  EXPECT_NE(error("linear", {t.q, t.k, t.v, t.past.narrow(3, 0, 4)}).find("past_state must be [2, 2, 3, 5]"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

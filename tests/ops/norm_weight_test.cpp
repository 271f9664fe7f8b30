#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

CheckedOp norm_weight(int axis, std::int64_t group, bool guard) {
  return {"quench.NormWeight",
          {{"epsilon", 0.0}, {"axis", std::int64_t{axis}}, {"group", group}, {"guard", std::int64_t{guard}}},
          3};
}

// Powers of two throughout: exact.
TEST(NormWeight, GivesWeightFactorAndBiasOfTheFoldedLayer) {
  const at::Tensor w = at::ones({2, 3, 1, 1}), gamma = at::tensor({2.0F, -4.0F}), var = at::tensor({4.0F, 16.0F}),
                   mean = at::tensor({8.0F, 1.0F}), beta = at::tensor({0.5F, 0.25F}), bias = at::tensor({16.0F, 2.0F});
  const auto results = norm_weight(0, 1, false)({w, gamma, var, mean, beta, bias});
  EXPECT_TRUE(at::equal(results[0].tensor(), w * at::tensor({1.0F, -1.0F}).reshape({2, 1, 1, 1})));
  EXPECT_TRUE(at::equal(results[1].tensor(), at::tensor({1.0F, -1.0F}).reshape({1, 2, 1, 1})));
  EXPECT_TRUE(at::equal(results[2].tensor(), at::tensor({8.5F, -0.75F})));
  const auto unbiased = norm_weight(0, 1, false)({w, gamma, var, mean, beta});
  EXPECT_TRUE(at::equal(unbiased[2].tensor(), at::tensor({-7.5F, 1.25F})));
}

// Two groups of a transposed convolution: inputs 0 and 1 feed channels 0 to 2, inputs 2 and 3 the others.
TEST(NormWeight, FollowsTheGroupsOfATransposedConvolution) {
  const at::Tensor gamma = at::arange(1, 7, at::kFloat), one = at::ones({6}), none = at::zeros({6});
  const at::Tensor scaled = norm_weight(1, 2, false)({at::ones({4, 3, 1}), gamma, one, none, none})[0].tensor();
  EXPECT_TRUE(at::equal(scaled[1].flatten(), at::tensor({1.0F, 2.0F, 3.0F})));
  EXPECT_TRUE(at::equal(scaled[2].flatten(), at::tensor({4.0F, 5.0F, 6.0F})));
}

TEST(NormWeight, GuardsTheFactorButNotTheBias) {
  const at::Tensor gamma = at::tensor({0.0F, -1e-8F, 1.0F}), one = at::ones({3}), none = at::zeros({3});
  const auto results = norm_weight(0, 1, true)({at::ones({3, 2}), gamma, one, -one, none});
  EXPECT_TRUE(at::equal(results[0].tensor().select(1, 0), at::tensor({1e-5F, -1e-5F, 1.0F})));
  EXPECT_TRUE(at::equal(results[2].tensor(), gamma));
}

TEST(NormWeight, HasTheGradientsOfItsFormula) {
  at::manual_seed(1);
  const at::Tensor w = at::randn({3, 2, 2, 2}, at::kDouble), gamma = at::rand({3}, at::kDouble) + 0.5;
  const auto constant = [](double value) { return at::full({3}, value, at::kDouble); };
  // Central differences of a product of two: exact up to double's rounding over the step.
  EXPECT_LT(gradient_error(norm_weight(0, 1, true), {w, gamma, constant(2.0), constant(0.5), constant(1.0)}, 2), 1e-6);
}

// Floats go through one loop each way. The formula in LibTorch, in double: sums of 18 products in float.
TEST(NormWeight, HasTheSameGradientsInOneLoop) {
  for (const int round : {0, 1, 2, 3}) {
    const bool channels_last = round % 2 == 1, has_bias = round < 2;
    at::manual_seed(2);
    at::Tensor w = at::randn({5, 2, 3, 3}), gamma = at::randn({5}), variance = at::rand({5}) + 0.5;
    if (channels_last) w = w.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor mean = at::randn({5}), beta = at::randn({5}), bias = at::randn({5});
    gamma.select(0, 1).fill_(1e-8F);
    std::vector<at::Tensor> in, twins;
    for (const at::Tensor& one : {w, gamma, beta, bias}) {
      in.push_back(one.clone().requires_grad_());
      twins.push_back(one.to(at::kDouble).requires_grad_());
    }
    CheckedOp op = norm_weight(0, 1, true);
    op.grad = true;
    const at::Tensor moving = variance.clone(), centre = mean.clone();
    std::vector<RtValue> given = {in[0], in[1], moving, centre, in[2]};
    if (has_bias) given.emplace_back(in[3]);
    const auto found = op(given);
    moving.fill_(7.0F);  // as training does before the backward pass
    centre.fill_(7.0F);
    const at::Tensor k = twins[1] / variance.to(at::kDouble).sqrt();
    const at::Tensor used = at::where(k.detach().abs() < 1e-5, at::full_like(k, 1e-5), k);
    const at::Tensor spread = used.reshape({1, 5, 1, 1});
    const std::vector<at::Tensor> expected = {twins[0] * used.reshape({5, 1, 1, 1}), spread,
                                              (has_bias ? twins[3] - mean : -mean) * k + twins[2]};
    at::Tensor sum = at::zeros({}), twin_sum = at::zeros({}, at::kDouble);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_LT(distance(found[i].tensor(), expected[i]), 1e-5) << i;
      const at::Tensor dy = at::randn(expected[i].sizes());
      sum = sum + (found[i].tensor() * dy).sum();
      twin_sum = twin_sum + (expected[i] * dy).sum();
    }
    sum.backward();
    twin_sum.backward();
    for (std::size_t i = 0; i < (has_bias ? 4 : 3); ++i)
      EXPECT_LT(distance(in[i].grad(), twins[i].grad()), 1e-4) << "input " << i;
  }
}

TEST(NormWeight, RefusesWhatDoesNotFit) {
  const at::Tensor five = at::ones({5}), w = at::ones({6, 2});
  EXPECT_NE(error_of(norm_weight(0, 1, true), {w, five, five, five, five})
                .find("5 factors for a weight of 6 output channels"),
            std::string::npos);
  EXPECT_NE(error_of(norm_weight(2, 1, true), {w, five, five, five, five}).find("has no axis 2"), std::string::npos);
}

}  // namespace
}  // namespace quench

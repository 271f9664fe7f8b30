#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

at::Tensor random(std::vector<std::int64_t> shape) { return at::randn(shape, at::kDouble); }

// Four products of doubles each: 1e-12 is thousands of roundings.
TEST(CausalConv, SeesOnlyWhatCameBefore) {
  const at::Tensor x = random({2, 3, 7}), weight = random({3, 1, 4}), bias = random({3});
  const at::Tensor y = run_checked("CausalConvWithState", {x, weight, bias});
  at::Tensor expected = bias.reshape({1, 3, 1}).expand({2, 3, 7}).clone();
  for (std::int64_t t = 0; t < 7; ++t)
    for (std::int64_t i = 0; i < 4; ++i)
      if (t - 3 + i >= 0) expected.select(2, t) += weight.select(2, i).squeeze(1) * x.select(2, t - 3 + i);
  EXPECT_LT(distance(y, expected), 1e-12);
  EXPECT_LT(gradient_error({"CausalConvWithState", {{"activation", "silu"}}}, {x, weight, bias}, 3), 1e-6);
}

TEST(CausalConv, ContinuesFromAState) {
  const at::Tensor x = random({1, 2, 6}), weight = random({2, 1, 3});
  const CheckedOp op{"CausalConvWithState", {{"activation", "swish"}}, 2};
  const auto whole = op({x, weight}), first = op({x.narrow(2, 0, 1), weight});
  EXPECT_EQ(first[1].tensor().size(2), 2);  // one zero of the padding, one input
  const auto rest = op({x.narrow(2, 1, 5), weight, RtValue(), first[1]});
  EXPECT_LT(distance(at::cat({first[0].tensor(), rest[0].tensor()}, 2), whole[0].tensor()), 1e-12);
  EXPECT_TRUE(at::equal(rest[1].tensor(), x.narrow(2, 4, 2)));
}

TEST(CausalConv, RefusesOtherShapesAndActivations) {
  const at::Tensor x = random({1, 2, 6}), weight = random({2, 1, 3});
  const auto error = [](const Attrs& attrs, const std::vector<RtValue>& inputs) {
    return error_of({"CausalConvWithState", attrs, 2}, inputs);
  };
  EXPECT_NE(error({{"activation", "relu"}}, {x, weight}).find("'relu' is not one of none, silu, swish"),
            std::string::npos);
  EXPECT_NE(error({}, {x, random({3, 1, 3})}).find("the weight must be [2, 1, k]"), std::string::npos);
  EXPECT_NE(error({}, {x, weight, RtValue(), random({1, 2, 3})}).find("must hold 2 positions"), std::string::npos);
}

}  // namespace
}  // namespace quench

// The kernel is for GPUs: tests/cuda/replay_test.cpp.
#include "kernels/learned_params.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(LearnedParams, LeavesTheCpuToOthers) {
  const at::Tensor scale = at::full({2}, -1.0F), zero = at::full({2}, 9.0F);
  at::Tensor used, codes;
  EXPECT_FALSE(learned_params_in_one(scale, zero, {1e-8F, {0.0F, 7.0F, false}, true}, used, codes));
  EXPECT_FALSE(used.defined());
  EXPECT_EQ(scale[0].item<float>(), -1.0F);
  EXPECT_FALSE(slopes_in_one(at::zeros({2}), {at::ones({}), at::zeros({}), QScheme()}, 1.0, used));
}

}  // namespace
}  // namespace quench

#include "kernels/finish_conv.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace quench {
namespace {

TEST(FinishConv, AddsAndClamps) {
  at::Tensor y = at::tensor({-3.0F, 1.0F, 5.0F, 20.0F}).view({1, 2, 1, 2});
  const at::Tensor bias = at::tensor({1.0F, 2.0F}), residual = at::tensor({0.5F, 0.5F, 0.25F, NAN}).view({1, 2, 1, 2});
  finish_conv(y, {bias, residual, 0.0F, 6.0F});
  EXPECT_TRUE(at::equal(y.flatten().narrow(0, 0, 3), at::tensor({0.0F, 2.5F, 6.0F})));
  EXPECT_TRUE(std::isnan(y[0][1][0][1].item<float>()));
}

TEST(FinishConv, LeavesOutWhatIsNotGiven) {
  const at::Tensor x = at::tensor({-3.0F, 1.0F}).view({1, 2, 1, 1}), none;
  at::Tensor y = x.clone();
  finish_conv(y, {none, none});
  EXPECT_TRUE(at::equal(x, y));
}

}  // namespace
}  // namespace quench

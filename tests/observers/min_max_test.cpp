#include <gtest/gtest.h>

#include "observers/observing.h"

namespace quench {
namespace {

TEST(MinMaxObserver, IsTheRangeOfAllBatches) {
  at::manual_seed(1);
  std::vector<at::Tensor> batches;
  for (int i = 0; i < 6; ++i) batches.push_back(at::randn({50}) * (i % 3 + 1));
  const at::Tensor all = at::cat(batches);
  const QParams wanted =
      qparams_of_range(QScheme::parse("uint8 affine tensor"), {all.min().item<float>()}, {all.max().item<float>()});
  EXPECT_EQ(observed("min_max", "uint8 affine tensor", batches), wanted);
  EXPECT_EQ(observed("min_max", "uint8 affine tensor", {all}), wanted);
  EXPECT_EQ(merged("min_max", "uint8 affine tensor", batches), wanted);
}

TEST(MinMaxObserver, HasOneRangeAChannel) {
  const at::Tensor x = at::tensor({1.0F, -2.0F, 0.5F, 4.0F}).reshape({2, 2});
  EXPECT_EQ(observed("min_max", "int8 symmetric channel:0", {x}).scale,
            (std::vector<float>{2.0F / 127.5F, 4.0F / 127.5F}));
  EXPECT_EQ(observed("min_max", "int8 symmetric channel:1", {x}).scale,
            (std::vector<float>{1.0F / 127.5F, 4.0F / 127.5F}));
}

TEST(MinMaxObserver, HasOneRangeAGroupInTheOrderOfTheScales) {
  // Groups of two along axis 0 of a 4 x 2 matrix: scales are 2 x 2.
  const at::Tensor x = at::tensor({1.0F, 10.0F, 2.0F, 20.0F, 3.0F, 30.0F, 4.0F, 40.0F}).reshape({4, 2});
  const QParams params = observed("min_max", "int8 symmetric group:0:2", {x});
  EXPECT_EQ(params.scale, (std::vector<float>{2.0F / 127.5F, 20.0F / 127.5F, 4.0F / 127.5F, 40.0F / 127.5F}));
}

TEST(MinMaxObserver, IsRefreshable) {
  EXPECT_TRUE(observer_of("min_max", "int8 tensor")->refreshable());
  EXPECT_TRUE(observer_of("ema_min_max", "int8 tensor")->refreshable());
  EXPECT_TRUE(observer_of("lsq", "int8 tensor")->refreshable());
  int count = 0;
  for (const auto& [name, entry] : ObserverRegistry::instance().entries()) count += entry.item.refreshable ? 1 : 0;
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace quench

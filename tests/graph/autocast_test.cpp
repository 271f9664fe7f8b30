#include "graph/autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

at::ScalarType type_of_a_product() { return at::mm(at::rand({2, 2}), at::rand({2, 2})).scalar_type(); }

TEST(Autocast, IsOnWhileItLives) {
  {
    const Autocast autocast(true, "cpu");
    EXPECT_EQ(type_of_a_product(), at::kBFloat16);
  }
  EXPECT_EQ(type_of_a_product(), at::kFloat);
  const Autocast off(false, "cpu");
  EXPECT_EQ(type_of_a_product(), at::kFloat);
}

TEST(Autocast, LeavesTheCallersOwn) {
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  {
    const Autocast autocast(true, "cpu");
  }
  EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), at::kHalf);
  EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::clear_cache();
}

}  // namespace
}  // namespace quench

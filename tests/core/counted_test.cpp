#include "core/counted.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(Counted, HasAPluralForAllButOne) {
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(2, "step"), "2 steps");
  EXPECT_EQ(counted(1, "bias", "biases"), "1 bias");
  EXPECT_EQ(counted(3, "bias", "biases"), "3 biases");
}

}  // namespace
}  // namespace quench

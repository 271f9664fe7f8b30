#include "measure/error_sums.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace quench {
namespace {

TEST(ErrorSums, ATensorWithoutElementsHasNoErrors) {
  ErrorSums sums;
  sums.add(at::zeros({2, 0}), at::zeros({2, 0}), 2);
  const TensorError error = sums.result();
  EXPECT_TRUE(std::isinf(error.sqnr.value));
  EXPECT_EQ(error.max, 0.0);
}

TEST(ErrorSums, IsTheRatioOfEnergies) {
  ErrorSums sums;
  sums.add(at::full({2, 4}, 10.0F), at::full({2, 4}, 11.0F), 2);
  EXPECT_NEAR(sums.result().sqnr.value, 20.0, 1e-9);
  EXPECT_EQ(sums.result().max, 1.0);
}

}  // namespace
}  // namespace quench

#include "core/statistics.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(BinomialTail, OfFewEventsIsTheirSum) {
  EXPECT_NEAR(binomial_tail(2, 3, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(binomial_tail(1, 4, 0.02), 1 - 0.98 * 0.98 * 0.98 * 0.98, 1e-12);
  EXPECT_NEAR(binomial_tail(3, 3, 0.1), 1e-3, 1e-15);
}

TEST(BinomialTail, OfManyEventsDoesNotOverflow) {
  EXPECT_NEAR(binomial_tail(500'000, 1'000'000, 0.5), 0.5004, 1e-4);
  EXPECT_LT(binomial_tail(20'000, 1'000'000, 0.01), 1e-100);
  EXPECT_NEAR(binomial_tail(1, 1'000'000, 0.01), 1.0, 1e-8);
}

TEST(BinomialTail, AtTheEnds) {
  EXPECT_EQ(binomial_tail(0, 10, 0.0), 1.0);
  EXPECT_EQ(binomial_tail(1, 10, 0.0), 0.0);
  EXPECT_EQ(binomial_tail(10, 10, 1.0), 1.0);
  EXPECT_EQ(binomial_tail(11, 10, 0.5), 0.0);
}

}  // namespace
}  // namespace quench

#include "quant/rounding.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quench {
namespace {

TEST(Rounding, EveryRuleAtEveryTie) {
  struct Row {
    float v, even, up_negative, up, away;
  };
  // clang-format off
  const Row rows[] = {{-2.5F, -2, -2, -2, -3}, {-1.5F, -2, -1, -1, -2}, {-0.5F, 0, 0, 0, -1},
                      {0.5F, 0, 0, 1, 1},      {1.5F, 2, 2, 2, 2},      {2.5F, 2, 2, 3, 3}};
  // clang-format on
  for (const Row& row : rows) {
    EXPECT_EQ(round_by(row.v, Rounding::kHalfEven), row.even) << row.v;
    EXPECT_EQ(round_by(row.v, Rounding::kHalfUpNegative), row.up_negative) << row.v;
    EXPECT_EQ(round_by(row.v, Rounding::kHalfUp), row.up) << row.v;
    EXPECT_EQ(round_by(row.v, Rounding::kHalfAway), row.away) << row.v;
  }
}

TEST(Rounding, EveryRuleIsNearestElsewhere) {
  for (float v = -4.03F; v < 4.0F; v += 0.11F)
    for (const Rounding rule :
         {Rounding::kHalfEven, Rounding::kHalfUpNegative, Rounding::kHalfUp, Rounding::kHalfAway}) {
      EXPECT_EQ(round_by(v, rule), std::nearbyint(v)) << v;
    }
  // Just below a tie, where v + 1/2 rounds to 1 in float32.
  EXPECT_EQ(round_by(0.49999997F, Rounding::kHalfUp), 0.0F);
  EXPECT_EQ(round_by(8388609.0F, Rounding::kHalfUp), 8388609.0F);
}

}  // namespace
}  // namespace quench

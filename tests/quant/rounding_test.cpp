#include "quant/rounding.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

constexpr Rounding kAll[] = {Rounding::kHalfEven, Rounding::kHalfUpNegative, Rounding::kHalfUp, Rounding::kHalfAway};

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
    for (const Rounding rule : kAll) EXPECT_EQ(round_by(v, rule), std::nearbyint(v)) << v;
  // Just below a tie, where v + 1/2 rounds to 1 in float32.
  EXPECT_EQ(round_by(0.49999997F, Rounding::kHalfUp), 0.0F);
  EXPECT_EQ(round_by(8388609.0F, Rounding::kHalfUp), 8388609.0F);
}

// Every float32 tie and its neighbours below 2^12, and what is not finite.
TEST(Rounding, TensorsAreRoundedAsTheirElements) {
  const at::Tensor ties = at::arange(-4096, 4096).to(at::kFloat) / 4;
  const at::Tensor inf = at::full({1}, INFINITY), big = at::tensor({8388609.0F, 4194303.5F, 4194304.5F, 3e38F});
  const at::Tensor v = at::cat({ties, at::nextafter(ties, inf), at::nextafter(ties, -inf), inf, -inf, big, -big});
  for (const Rounding rule : kAll) {
    const at::Tensor rounded = round_by(v, rule);
    for (std::int64_t i = 0; i < v.numel(); ++i) {
      const float one = round_by(v.const_data_ptr<float>()[i], rule), many = rounded.const_data_ptr<float>()[i];
      ASSERT_EQ(std::memcmp(&one, &many, sizeof one), 0) << name_of(rule) << " " << v[i].item<float>();
    }
    EXPECT_TRUE(std::isnan(round_by(at::full({1}, NAN), rule).item<float>()));
  }
}

TEST(Rounding, NamesAreReadBack) {
  for (const Rounding rule : kAll) EXPECT_EQ(rounding_from_name(name_of(rule)), rule);
  EXPECT_ERROR(rounding_from_name("half"), "unknown rounding rule 'half'", "half_up");
}

// Codes of what no code is: defined, and the sum of step and zero point is an int.
TEST(CodeOf, IsDefinedForEveryZeroPoint) {
  const Steps steps = affine_of(1.0F, 3.0F, -128.0F, 127.0F).steps;
  EXPECT_EQ(code_of(2.5F, steps, 3.0F), 5);
  EXPECT_EQ(code_of(NAN, steps, 3.0F), 3);
  EXPECT_EQ(code_of(-1e30F, steps, 3.0F), -128);
  constexpr int kLeast = -1073741824, kMost = 1073741760;
  for (const float v : {0.0F, 1.5F, -3e38F, 3e38F, INFINITY, -INFINITY}) {
    const auto code = [v](float zero) { return code_of(v, affine_of(1.0F, zero, -128.0F, 127.0F).steps, zero); };
    EXPECT_EQ(code(NAN), kLeast + kLeast) << v;
    for (const float zero : {INFINITY, 3e38F, 2147483648.0F}) {
      EXPECT_EQ(code(zero), kLeast + kMost) << v << " " << zero;
      EXPECT_EQ(code(-zero), kMost + kLeast) << v << " " << -zero;
    }
  }
}

}  // namespace
}  // namespace quench

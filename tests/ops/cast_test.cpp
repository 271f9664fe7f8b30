#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/convert.h"
#include "ops/run_op.h"

namespace quench {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> cast_floats(std::vector<float> values, DType to, const Attrs& further = {}) {
  Attrs attrs = further;
  attrs["to"] = static_cast<std::int64_t>(to);
  const RtValue result = run_op("Cast", {floats(std::move(values))}, attrs)[0];
  EXPECT_EQ(result.dtype(), to);
  const at::Tensor numbers = decode(result).to(at::kFloat).contiguous();
  return {numbers.const_data_ptr<float>(), numbers.const_data_ptr<float>() + numbers.numel()};
}

TEST(Cast, Float8SaturatesOrOverflowsAsTheTableSays) {
  const Attrs open = {{"saturate", std::int64_t{0}}};
  EXPECT_EQ(cast_floats({500, -kInfinity, 0.3F}, DType::kFloat8E4M3Fn), (std::vector<float>{448, -448, 0.3125F}));
  EXPECT_TRUE(std::isnan(cast_floats({500}, DType::kFloat8E4M3Fn, open)[0]));
  EXPECT_EQ(cast_floats({1e6F}, DType::kFloat8E5M2), std::vector<float>{57344});
  EXPECT_EQ(cast_floats({1e6F}, DType::kFloat8E5M2, open), std::vector<float>{kInfinity});
  EXPECT_EQ(cast_floats({1e6F}, DType::kFloat8E4M3Fnuz), std::vector<float>{240});
  EXPECT_TRUE(std::isnan(cast_floats({1e6F}, DType::kFloat8E5M2Fnuz, open)[0]));
  for (DType to : {DType::kFloat8E4M3Fn, DType::kFloat8E4M3Fnuz, DType::kFloat8E5M2, DType::kFloat8E5M2Fnuz})
    EXPECT_TRUE(std::isnan(cast_floats({kNan}, to)[0])) << name_of(to);
}

TEST(Cast, Float4TakesTiesToTheEvenCode) {
  EXPECT_EQ(cast_floats({0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F, 100.0F, -0.8F}, DType::kFloat4E2M1),
            (std::vector<float>{0, 1, 1, 2, 2, 4, 4, 6, -1}));
}

TEST(Cast, E8M0RoundsTheExponentByItsMode) {
  const auto by = [](const char* mode) {
    return cast_floats({1.0F, 1.1F, 1.5F, 3.0F}, DType::kFloat8E8M0, {{"round_mode", std::string(mode)}});
  };
  EXPECT_EQ(by("up"), (std::vector<float>{1, 2, 2, 4}));
  EXPECT_EQ(by("down"), (std::vector<float>{1, 1, 1, 2}));
  EXPECT_EQ(by("nearest"), (std::vector<float>{1, 1, 2, 4}));
  EXPECT_EQ(reason_of([&] { by("sideways"); }), "round_mode must be up, down or nearest, not 'sideways'");
}

TEST(Cast, NarrowIntegersKeepTheLowBits) {
  const auto codes = [](std::vector<std::int64_t> values, DType to) {
    const Attrs attrs = {{"to", static_cast<std::int64_t>(to)}};
    const at::Tensor result = run_one("Cast", {ints(std::move(values))}, attrs).to(at::kLong);
    return std::vector<std::int64_t>(result.data_ptr<std::int64_t>(), result.data_ptr<std::int64_t>() + result.numel());
  };
  EXPECT_EQ(codes({7, 8, -9, 17}, DType::kInt4), (std::vector<std::int64_t>{7, -8, 7, 1}));
  EXPECT_EQ(codes({15, 16, -1}, DType::kUint4), (std::vector<std::int64_t>{15, 0, 15}));
  EXPECT_EQ(codes({1, 2, -3}, DType::kInt2), (std::vector<std::int64_t>{1, -2, 1}));
  EXPECT_EQ(codes({200, -1}, DType::kInt8), (std::vector<std::int64_t>{-56, -1}));
}

// Every numeric type to every other: small whole numbers survive where both types hold them.
TEST(Cast, EveryTypeConvertsToEveryOther) {
  std::vector<DType> types;
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_floating(dtype) || is_integer(dtype) || dtype == DType::kBool) types.push_back(dtype);
  }
  EXPECT_EQ(types.size(), 23U);
  const RtValue one = at::ones({3});
  for (DType from : types) {
    for (DType to : types) {
      const RtValue result = convert(convert(one, from), to);
      EXPECT_EQ(result.dtype(), to);
      EXPECT_TRUE(at::equal(decode(result).to(at::kFloat), one.tensor())) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(Cast, BitCastKeepsTheBits) {
  const Attrs attrs = {{"to", static_cast<std::int64_t>(DType::kInt32)}};
  EXPECT_TRUE(at::equal(run_one("BitCast", {floats({1.0F})}, attrs), at::tensor({0x3F800000})));
  EXPECT_EQ(reason_of([&] { run_one("BitCast", {at::ones({1}, at::kDouble)}, attrs); }),
            "cannot reinterpret double as int32: an element must have as many bits");
}

}  // namespace
}  // namespace quench

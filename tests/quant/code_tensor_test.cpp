#include "quant/code_tensor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quant/affine.h"

namespace quench {
namespace {

TEST(CodeTensor, RangesAreThoseOfTheBits) {
  EXPECT_EQ(code_range(8, true).low, -128.0);
  EXPECT_EQ(code_range(8, true).high, 127.0);
  EXPECT_EQ(code_range(4, false).low, 0.0);
  EXPECT_EQ(code_range(4, false).high, 15.0);
  EXPECT_EQ(code_range(32, true).high, 2147483647.0);
  EXPECT_EQ(code_range(QScheme::parse("int8 symmetric tensor narrow")).low, -127.0);
  EXPECT_EQ(code_range(QScheme::parse("uint4 affine tensor")).high, 15.0);
}

TEST(CodeTensor, TiesGoToEvenBeforeTheZeroPointIsAdded) {
  const at::Tensor codes = nearest_codes(at::tensor({0.5F, 1.5F, -0.5F, 300.0F}), at::tensor({3.0F}), {0.0, 255.0});
  EXPECT_TRUE(at::equal(codes, at::tensor({3.0F, 5.0F, 3.0F, 255.0F})));
  EXPECT_TRUE(at::equal(nearest_codes(at::tensor({2.5F, -7.0F}), {}, {-4.0, 3.0}), at::tensor({2.0F, -4.0F})));
}

TEST(CodeTensor, AgreesWithTheDefinitionOfOneElement) {
  const at::Tensor steps = at::randn({1000}) * 200;
  const at::Tensor bytes = nearest_bytes(steps, at::scalar_tensor(7, at::kChar));
  ASSERT_EQ(bytes.scalar_type(), at::kChar);
  for (std::int64_t i = 0; i < steps.numel(); ++i)
    EXPECT_EQ(bytes[i].item<int>(), code_of(steps[i].item<float>(), {-128.0F - 7.0F, 127.0F - 7.0F}, 7.0F));
}

}  // namespace
}  // namespace quench

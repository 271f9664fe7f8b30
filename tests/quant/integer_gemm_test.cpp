#include <gtest/gtest.h>

#include "quant/integer_cases.h"
#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor minus(const at::Tensor& codes, const at::Tensor& zero_points) { return codes.to(at::kLong) - zero_points; }

// Codes of sums [.., N] with a scale per column.
at::Tensor expected(const at::Tensor& sums, float a_scale, const QParams& b, const QType& y, Requantize rule) {
  const Requantizer requantizer({rule}, {a_scale, b.scale, 1}, output_codes(y, {rule}));
  const at::Tensor flat = sums.reshape({-1, sums.size(-1)}), codes = at::empty_like(flat);
  for (std::int64_t i = 0; i < flat.size(0); ++i)
    for (std::int64_t n = 0; n < flat.size(1); ++n)
      codes[i][n] = requantizer(flat[i][n].item<std::int64_t>(), static_cast<std::size_t>(n));
  return store_codes(codes.view(sums.sizes()), y.scheme);
}

TEST(IntegerGemm, TakesBothOrdersAndScalesOfColumns) {
  at::manual_seed(1);
  const QType a = type_of("uint8 affine tensor", 0.02F, 113), y = type_of("int8 affine tensor", 0.4F, -7);
  const at::Tensor bias = at::randint(-5000, 5000, {6}, at::kInt);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const QType b = channel_type(tb ? "int8 affine channel:0" : "int8 affine channel:1", 6, 0.01F, true);
      const at::Tensor zb = at::tensor(at::ArrayRef<std::int32_t>(b.params.zero_point));
      const at::Tensor aq = random_codes({5, 12}, a.scheme), bq = random_codes({12, 6}, b.scheme);
      const at::Tensor sums = (minus(aq, at::tensor(113)).unsqueeze(2) * minus(bq, zb).unsqueeze(0)).sum(1) + bias;
      const at::Tensor left = ta ? aq.t() : aq, right = tb ? bq.t() : bq;
      for (const Requantize rule : kAllRules)
        EXPECT_TRUE(integer_gemm({left, a}, {right, b}, bias, {ta, tb}, {y, {rule}, {}})
                        .equal(expected(sums, 0.02F, b.params, y, rule)))
            << ta << tb << name_of(rule);
    }
}

TEST(IntegerMatMul, TakesBatches) {
  at::manual_seed(2);
  const QType a = type_of("int8 tensor", 0.02F), b = type_of("uint8 affine tensor", 0.01F, 200);
  const QType y = type_of("int8 tensor", 0.3F);
  const at::Tensor aq = random_codes({2, 1, 3, 7}, a.scheme), bq = random_codes({4, 7, 5}, b.scheme);
  const at::Tensor sums = (minus(aq, at::tensor(0)).unsqueeze(-1) * minus(bq, at::tensor(200)).unsqueeze(-3)).sum(-2);
  const at::Tensor codes = integer_matmul({aq, a}, {bq, b}, {}, {y, {}, {}});
  EXPECT_EQ(codes.sizes(), at::IntArrayRef({2, 4, 3, 5}));
  EXPECT_TRUE(codes.equal(expected(sums, 0.02F, b.params, y, Requantize::kMlas)));
}

TEST(IntegerMatMul, SaysWhatIsWrong) {
  const QType a = type_of("int8 tensor", 0.02F), rows = channel_type("int8 channel:0", 4, 0.01F);
  const at::Tensor aq = at::zeros({3, 4}, at::kChar), bq = at::zeros({4, 5}, at::kChar);
  EXPECT_ERROR(integer_matmul({aq, a}, {bq, rows}, {}, {a, {}, {}}), "'int8 symmetric channel:0'", "must have axis 1");
  EXPECT_ERROR(integer_gemm({aq, a}, {bq, rows}, {}, {}, {a, {}, {}}), "'int8 symmetric channel:0'",
               "must have axis 1");
  EXPECT_ERROR(integer_matmul({aq[0], a}, {bq, a}, {}, {a, {}, {}}), "matrices, not ranks 1 and 2");
  EXPECT_ERROR(integer_matmul({at::full({3, 4}, 300, at::kInt), a}, {bq, a}, {}, {a, {}, {}}), "codes from 300",
               "'int8 symmetric tensor'");
}

}  // namespace
}  // namespace quench

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/tensor_types.h"
#include "ops/checked_op.h"

namespace quench {
namespace {

TEST(QuantizeLinear, RoundsTiesToEvenAndSaturates) {
  const at::Tensor x = at::tensor({0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 1000.0F, -1000.0F});
  const at::Tensor zero = at::tensor(3).to(at::kByte);
  EXPECT_TRUE(at::equal(run_checked("QuantizeLinear", {x, at::tensor(1.0F), zero}),
                        at::tensor({3, 5, 5, 3, 1, 255, 0}).to(at::kByte)));
  EXPECT_EQ(run_checked("QuantizeLinear", {x, at::tensor(1.0F)}).scalar_type(), at::kByte);
}

struct Range {
  DType dtype;
  std::int64_t low, high;
};

TEST(QuantizeLinear, KnowsTheRangeOfEveryIntegerType) {
  const at::Tensor x = at::tensor({-1e6F, 1e6F}), scale = at::tensor(1.0F);
  for (const Range& range : {Range{DType::kUint8, 0, 255}, Range{DType::kInt8, -128, 127},
                             Range{DType::kUint16, 0, 65535}, Range{DType::kInt16, -32768, 32767},
                             Range{DType::kUint4, 0, 15}, Range{DType::kInt4, -8, 7}, Range{DType::kInt2, -2, 1}}) {
    const RtValue zero(at::zeros({}, scalar_type_of(range.dtype)), range.dtype);
    const RtValue y = CheckedOp{"QuantizeLinear", {}}({x, scale, zero})[0];
    EXPECT_EQ(y.dtype(), range.dtype);
    EXPECT_EQ(integers_of(y.tensor()), (std::vector<std::int64_t>{range.low, range.high})) << name_of(range.dtype);
    const RtValue typed =
        CheckedOp{"QuantizeLinear", {{"output_dtype", static_cast<std::int64_t>(range.dtype)}}}({x, scale})[0];
    EXPECT_EQ(typed.dtype(), range.dtype);
  }
}

TEST(QuantizeLinear, GoesAndComesBackWithinHalfAStep) {
  const at::Tensor x = at::randn({4, 6, 5});
  const at::Tensor one = at::tensor(0.05F), channel = at::rand({6}) * 0.05 + 0.05;
  const at::Tensor blocks = at::rand({4, 3, 5}) * 0.05 + 0.05;
  const auto round_trip = [&](const at::Tensor& scale, const Attrs& attrs) {
    const RtValue zero(at::full(scale.sizes(), 100, at::kByte));
    const RtValue codes = CheckedOp{"QuantizeLinear", attrs}({x, scale, zero})[0];
    return run_checked("DequantizeLinear", {codes, scale, zero}, attrs);
  };
  EXPECT_LE(distance(round_trip(one, {}), x), 0.0251);
  const at::Tensor by_channel = round_trip(channel, {{"axis", std::int64_t{-2}}});
  EXPECT_TRUE(((by_channel - x).abs() <= channel.reshape({1, 6, 1}) / 2 + 1e-6).all().item<bool>());
  const at::Tensor by_block = round_trip(blocks, {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}});
  EXPECT_TRUE(((by_block - x).abs() <= blocks.repeat_interleave(2, 1) / 2 + 1e-6).all().item<bool>());
}

TEST(QuantizeLinear, TakesFloat8) {
  const at::Tensor x = at::tensor({0.0F, 1.0F, -3.0F, 1e6F, 17.0F});
  for (const auto& [dtype, largest] : {std::pair{DType::kFloat8E4M3Fn, 448.0F}, std::pair{DType::kFloat8E5M2, 57344.0F},
                                       std::pair{DType::kFloat8E4M3Fnuz, 240.0F}}) {
    const RtValue zero(at::zeros({}).to(scalar_type_of(dtype)), dtype);
    const RtValue y = CheckedOp{"QuantizeLinear", {}}({x, at::tensor(1.0F), zero})[0];
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.tensor().to(at::kFloat)[3].item<float>(), largest);
    const at::Tensor back = run_checked("DequantizeLinear", {y, at::tensor(2.0F)});
    EXPECT_EQ(back[2].item<float>(), -6.0F);
  }
  const RtValue zero(at::zeros({}).to(at::kFloat8_e4m3fn));
  const RtValue wild = CheckedOp{"QuantizeLinear", {{"saturate", std::int64_t{0}}}}({x, at::tensor(1.0F), zero})[0];
  EXPECT_TRUE(std::isnan(wild.tensor().to(at::kFloat)[3].item<float>()));
}

TEST(QuantizeLinear, NamesScalesThatDoNotFit) {
  EXPECT_NE(
      error_of({"QuantizeLinear", {}}, {at::ones({2, 3}), at::ones({4})}).find("4 scales for an axis of 3 channels"),
      std::string::npos);
  EXPECT_NE(error_of({"QuantizeLinear", {}}, {at::ones({2, 3}), at::ones({2, 3})}).find("needs a positive block_size"),
            std::string::npos);
}

TEST(DequantizeLinear, GivesTheTypeOfTheScale) {
  const at::Tensor codes = at::tensor({100, 120, 90}).to(at::kByte);
  const at::Tensor y =
      run_checked("DequantizeLinear", {codes, at::tensor(0.5F).to(at::kHalf), at::tensor(100).to(at::kByte)});
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_TRUE(at::equal(y.to(at::kFloat), at::tensor({0.0F, 10.0F, -5.0F})));
  EXPECT_TRUE(at::equal(run_checked("DequantizeLinear", {at::tensor({7, -8}).to(at::kInt), at::tensor(0.25F)}),
                        at::tensor({1.75F, -2.0F})));
}

TEST(DynamicQuantizeLinear, HoldsZeroExactly) {
  const at::Tensor x = at::tensor({0.0F, 2.0F, -3.0F, -2.5F, 1.34F, 0.5F});
  const auto y = CheckedOp{"DynamicQuantizeLinear", {}, 3}({x});
  EXPECT_TRUE(at::equal(y[0].tensor(), at::tensor({153, 255, 0, 26, 221, 179}).to(at::kByte)));
  EXPECT_NEAR(y[1].tensor().item<double>(), 5.0 / 255, 1e-7);
  EXPECT_EQ(y[2].tensor().item<std::uint8_t>(), 153);
}

TEST(Dropout, IsTheIdentityUntilItTrains) {
  const at::Tensor x = at::ones({1000});
  CheckedOp run{"Dropout", {}, 2};
  const std::vector<RtValue> inputs{x, at::tensor(0.25F), at::ones({}, at::kBool)};
  EXPECT_TRUE(at::equal(run.result(inputs), x));
  run.training = true;
  const auto results = run(inputs);
  const at::Tensor kept = results[1].tensor();
  EXPECT_EQ(kept.scalar_type(), at::kBool);
  EXPECT_NEAR(kept.to(at::kFloat).mean().item<double>(), 0.75, 0.06);
  EXPECT_LT(distance(results[0].tensor(), kept.to(at::kFloat) / 0.75), 1e-6);
  run.frozen = true;
  EXPECT_TRUE(at::equal(run.result(inputs), x));
}

}  // namespace
}  // namespace quench

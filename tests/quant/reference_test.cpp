#include "quant/reference.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

QType type_of(const char* scheme, std::vector<float> scale, std::vector<std::int32_t> zero_point) {
  return {QScheme::parse(scheme), {std::move(scale), std::move(zero_point)}};
}

bool same(const at::Tensor& a, const at::Tensor& b) { return a.scalar_type() == b.scalar_type() && a.equal(b); }

TEST(Reference, QuantizesPerTensorWithTiesToEven) {
  const QType type = type_of("uint8 affine tensor", {0.5F}, {3});
  const at::Tensor x = at::tensor({0.25F, 0.75F, 1.25F, -0.25F, -100.0F, 100.0F, NAN, INFINITY, -0.0F});
  const at::Tensor codes = at::tensor({3, 5, 5, 3, 0, 203, 3, 255, 3}).to(at::kByte);
  EXPECT_TRUE(same(quantize_reference(x, type), codes)) << quantize_reference(x, type);
  const at::Tensor y = fake_quantize_reference(x, type);
  EXPECT_TRUE(std::isnan(y[6].item<float>()));
  EXPECT_EQ(y[7].item<float>(), 126.0F);
  EXPECT_EQ(y[4].item<float>(), -1.5F);
}

// As torch: x * (1/s). As ONNX: x / s.
TEST(Reference, DividesOrMultipliesByTheReciprocal) {
  at::manual_seed(2);
  const float scale = 0.0371F;
  const QType type = type_of("int8 tensor", {scale}, {0});
  const at::Tensor x = (at::randint(-128, 128, {4096}).to(at::kFloat) + 0.5) * scale;  // all about ties
  const at::Tensor by_torch = at::fake_quantize_per_tensor_affine(x, scale, 0, -128, 127);
  EXPECT_TRUE(same(fake_quantize_reference(x, type, QuantizeBy::kReciprocal), by_torch));
  const at::Tensor divided = (x / scale).round().clamp(-128, 127).to(at::kChar);
  EXPECT_TRUE(same(quantize_reference(x, type, QuantizeBy::kDivision), divided));
  EXPECT_FALSE(divided.equal(quantize_reference(x, type, QuantizeBy::kReciprocal)));
}

TEST(Reference, QuantizesPerChannelOnAnyAxisAsTorch) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({3, 5, 4, 2});
  for (int axis = -4; axis < 4; ++axis) {
    const at::Tensor scale = at::rand({x.size(axis)}) * 0.02 + 0.005, zero = at::randint(0, 256, {x.size(axis)});
    QType type{QScheme({.is_signed = false, .symmetric = false, .granularity = Granularity::kChannel, .axis = axis}),
               {}};
    for (std::int64_t c = 0; c < x.size(axis); ++c) {
      type.params.scale.push_back(scale[c].item<float>());
      type.params.zero_point.push_back(zero[c].item<int>());
    }
    const at::Tensor expected =
        at::fake_quantize_per_channel_affine(x, scale, zero.to(at::kInt), axis < 0 ? axis + 4 : axis, 0, 255);
    EXPECT_TRUE(same(fake_quantize_reference(x, type, QuantizeBy::kReciprocal), expected)) << axis;
  }
}

TEST(Reference, QuantizesGroupsAlongAnyAxis) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({4, 6, 5});
  const QScheme scheme = QScheme::parse("int4 symmetric group:1:3");
  QType type{scheme, {}};
  for (int i = 0; i < 4 * 2 * 5; ++i) {
    type.params.scale.push_back(0.1F + 0.01F * static_cast<float>(i));
    type.params.zero_point.push_back(0);
  }
  // Blocked quantization as ONNX has it: scales repeated along the axis.
  const at::Tensor scale = at::tensor(at::ArrayRef<float>(type.params.scale)).view({4, 2, 5}).repeat_interleave(3, 1);
  const at::Tensor codes = (x / scale).round().clamp(-8, 7);
  EXPECT_TRUE(same(quantize_reference(x, type), codes.to(at::kChar)));
  EXPECT_TRUE(same(fake_quantize_reference(x, type), codes * scale));
}

TEST(Reference, StoresCodesByWidth) {
  const at::Tensor x = at::zeros({2});
  const auto stored = [&](const char* scheme) {
    return quantize_reference(x, type_of(scheme, {1.0F}, {0})).scalar_type();
  };
  EXPECT_EQ(stored("int4 tensor"), at::kChar);
  EXPECT_EQ(stored("uint4 affine tensor"), at::kByte);
  EXPECT_EQ(stored("int16 tensor"), at::kShort);
  EXPECT_EQ(stored("uint16 affine tensor"), at::kUInt16);
  EXPECT_EQ(stored("e4m3fn tensor"), at::kFloat8_e4m3fn);
  EXPECT_EQ(stored("e5m2 tensor"), at::kFloat8_e5m2);
  EXPECT_EQ(stored("log8 tensor"), at::kByte);
  const QType wide = type_of("uint16 affine tensor", {0.5F}, {60000});
  const at::Tensor ends = at::tensor({-1e9F, 0.0F, 1e9F});
  EXPECT_TRUE(quantize_reference(ends, wide).to(at::kInt).equal(at::tensor({0, 60000, 65535}, at::kInt)));
  EXPECT_EQ(fake_quantize_reference(ends, wide)[2].item<float>(), 2767.5F);
}

TEST(Reference, QuantizesFloatsPerChannelWithSaturation) {
  const QType type = type_of("e4m3fn channel:0", {0.5F, 2.0F}, {0, 0});
  const at::Tensor x = at::tensor({1.0F, 1000.0F, 8.5F, 1.0F, -INFINITY, NAN}).view({2, 3});
  const at::Tensor y = fake_quantize_reference(x, type);
  EXPECT_EQ(y[0][0].item<float>(), 1.0F);
  EXPECT_EQ(y[0][1].item<float>(), 224.0F);
  EXPECT_EQ(y[0][2].item<float>(), 8.0F);  // 17 lies between 16 and 18
  EXPECT_EQ(y[1][0].item<float>(), 1.0F);
  EXPECT_EQ(y[1][1].item<float>(), -896.0F);
  EXPECT_TRUE(std::isnan(y[1][2].item<float>()));
}

// docs/numerics.md 5.9, written as it stands there.
TEST(Reference, QuantizesLogarithmically) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({2000}) * at::exp2(at::randint(-9, 2, {2000}).to(at::kFloat));
  const QType type{QScheme::parse("log8 tensor"), qparams_of_range(QScheme::parse("log8 tensor"), {-3.0F}, {2.5F})};
  EXPECT_EQ(type.params.scale[0], 3.0F);
  const double c = std::rint(16 * std::log2(3.0)) - 127;
  const at::Tensor d = x.to(at::kDouble), level = 16 * d.abs().log2() - c;
  const at::Tensor positive = at::exp2((level.round().clamp(0, 127) + c) / 16);
  const at::Tensor negative = -at::exp2((level.round().clamp(1, 127) + c) / 16);
  const at::Tensor expected = at::where(d > std::exp2((c - 16) / 16), positive,
                                        at::where(d < -std::exp2((c - 15) / 16), negative, at::zeros_like(d)));
  // Both compute in float64 and round once to float32; exp2 may differ in float64's last bit.
  EXPECT_TRUE(at::allclose(fake_quantize_reference(x, type).to(at::kDouble), expected, 1.2e-7, 0.0));
  EXPECT_GT((expected == 0).sum().item<int>(), 10);
}

TEST(Reference, SaysWhatIsWrong) {
  EXPECT_ERROR(quantize_reference(at::zeros({3, 2}), type_of("int8 channel:0", {1.0F, 1.0F}, {0, 0})),
               "'int8 symmetric channel:0'", "needs 3 scales");
  EXPECT_ERROR(quantize_reference(at::zeros({2}), type_of("int8 tensor", {0.0F}, {0})), "scale must be positive",
               "not 0");
  EXPECT_ERROR(quantize_reference(at::zeros({2}), type_of("int8 tensor", {NAN}, {0})), "scale must be positive",
               "not nan");
  EXPECT_ERROR(dequantize_reference(at::zeros({2}), type_of("e5m2 tensor", {1.0F}, {0})), "'e5m2 tensor'",
               "cannot be of type Float");
  EXPECT_ERROR(store_codes(at::full({2}, 8, at::kInt), QScheme::parse("int4 tensor")), "codes from 8",
               "'int4 symmetric tensor'");
}

}  // namespace
}  // namespace quench

#include "quant/accumulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

QType weights(std::vector<float> scale, const char* scheme = "int8 channel:0") {
  const std::size_t count = scale.size();
  return {QScheme::parse(scheme), {std::move(scale), std::vector<std::int32_t>(count, 0)}};
}

// D34: rounded, not truncated.
TEST(Bias, IsRoundedInStepsOfTheProduct) {
  using Codes = std::vector<std::int32_t>;
  EXPECT_EQ(quantize_bias({1.0F, -1.0F, 0.9F, -0.9F}, 0.5F, {0.5F}), Codes({4, -4, 4, -4}));
  EXPECT_EQ(quantize_bias({1.0F, -1.0F}, 0.5F, {0.25F, 2.0F}), Codes({8, -1}));
  EXPECT_EQ(quantize_bias({0.5F, 1.5F}, 1.0F, {1.0F}), Codes({0, 2}));
}

TEST(Bias, MustFit) {
  EXPECT_ERROR(quantize_bias({1.0F}, 1e-5F, {1e-6F}), "bias 1 of channel 0", "does not fit int32");
  EXPECT_ERROR(quantize_bias({NAN}, 1.0F, {1.0F}), "bias of channel 0 is nan");
  EXPECT_ERROR(quantize_bias({1.0F, 2.0F, 3.0F}, 1.0F, {1.0F, 1.0F}), "3 biases", "2 scales");
}

TEST(Bias, RaisesTheScaleOfChannelsWhereItDoesNotFit) {
  const std::vector<float> bias = {1.0F, 1.0F, 0.0F, -37.5F};
  const float x_scale = 1e-3F;
  const RaisedScales raised = raise_weight_scales(bias, x_scale, weights({1e-3F, 1e-7F, 1e-7F, 1.2e-7F}));
  EXPECT_EQ(raised.channels, std::vector<std::size_t>({1, 3}));
  EXPECT_EQ(raised.scale[0], 1e-3F);
  EXPECT_EQ(raised.scale[2], 1e-7F);
  for (const std::size_t c : raised.channels) {
    const auto steps = [&](float scale) { return std::fabs(bias[c]) / static_cast<double>(x_scale * scale); };
    EXPECT_LE(steps(raised.scale[c]), kLargestBias);
    // The least that fits, but for the float32 product: each of its roundings may cost one unit.
    EXPECT_GT(steps(raised.scale[c] * (1.0F - 4 * 0x1p-24F)), kLargestBias);
  }
  EXPECT_NO_THROW(quantize_bias(bias, x_scale, raised.scale));
}

TEST(Bias, KeepsPowersOfTwo) {
  const RaisedScales raised = raise_weight_scales({1.0F}, 0x1p-10F, weights({0x1p-23F}, "int8 channel:0 pot"));
  EXPECT_EQ(raised.scale[0], 0x1p-20F);
  EXPECT_EQ(raise_weight_scales({1.01F}, 0x1p-10F, weights({0x1p-23F}, "int8 channel:0 pot")).scale[0], 0x1p-19F);
}

TEST(Bias, RaisesTheOneScaleOfATensorForTheLargest) {
  const QType type = weights({1e-7F}, "int8 tensor");
  const RaisedScales raised = raise_weight_scales({1.0F, 50.0F, 2.0F}, 1e-3F, type);
  EXPECT_EQ(raised.channels, std::vector<std::size_t>({0}));
  EXPECT_EQ(raised.scale, raise_weight_scales({50.0F}, 1e-3F, type).scale);
  EXPECT_TRUE(raise_weight_scales({1.0F}, 1e-3F, weights({1e-3F})).channels.empty());
}

TEST(Accumulator, BoundIsTheWorstCase) {
  const QType x{QScheme::parse("uint8 affine tensor"), {{1.0F}, {128}}};
  EXPECT_EQ(accumulator_bound(9, x, weights({1.0F})), 9 * 128 * 128);
  const QType shifted{QScheme::parse("uint8 affine tensor"), {{1.0F}, {255}}};
  EXPECT_EQ(accumulator_bound(1000, shifted, weights({1.0F}, "int8 channel:0 narrow"), 77), 1000 * 255 * 127 + 77);
}

// A ConvTranspose in groups has a scale for each place in a group: channels 0 and 2 share the first of two.
TEST(Bias, ChannelsOfGroupsShareTheirScales) {
  using Codes = std::vector<std::int32_t>;
  EXPECT_EQ(quantize_bias({1.0F, 1.0F, -2.0F, -2.0F}, 0.5F, {0.25F, 2.0F}), Codes({8, 1, -16, -2}));
  const RaisedScales raised = raise_weight_scales({1.0F, 0.0F, 37.5F, 0.0F}, 1e-3F, weights({1e-7F, 1e-7F}));
  EXPECT_EQ(raised.channels, std::vector<std::size_t>({0}));
  EXPECT_LE(37.5 / static_cast<double>(1e-3F * raised.scale[0]), kLargestBias);
  EXPECT_EQ(raised.scale[1], 1e-7F);
}

}  // namespace
}  // namespace quench

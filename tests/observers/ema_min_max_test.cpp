#include <gtest/gtest.h>

#include <functional>

#include "observers/observing.h"

namespace quench {
namespace {

at::Tensor between(float min, float max) { return at::tensor({min, max}); }

TEST(EmaMinMaxObserver, WeighsTheOldValueByTheRatio) {
  const std::vector<at::Tensor> batches = {between(-1, 2), between(-3, 4), between(0, 8)};
  const float min = (-1.0F * 0.9F + -3.0F * (1.0F - 0.9F)) * 0.9F + 0.0F * (1.0F - 0.9F);
  const float max = (2.0F * 0.9F + 4.0F * (1.0F - 0.9F)) * 0.9F + 8.0F * (1.0F - 0.9F);
  EXPECT_EQ(observed("ema_min_max", "uint8 affine tensor", batches),
            qparams_of_range(QScheme::parse("uint8 affine tensor"), {min}, {max}));
  EXPECT_EQ(observed("ema_min_max", "uint8 affine tensor", batches, {{"ema_ratio", 0.9}}),
            observed("ema_min_max", "uint8 affine tensor", batches));
}

TEST(EmaMinMaxObserver, WeighsTheNewValueByTheAveragingConstant) {
  const std::vector<at::Tensor> batches = {between(-1, 2), between(-3, 4)};
  const float min = -1.0F + 0.01F * (-3.0F - -1.0F), max = 2.0F + 0.01F * (4.0F - 2.0F);
  EXPECT_EQ(observed("ema_min_max", "uint8 affine tensor", batches, {{"averaging_constant", 0.01}}),
            qparams_of_range(QScheme::parse("uint8 affine tensor"), {min}, {max}));
}

TEST(EmaMinMaxObserver, TheFirstBatchIsCopiedPerChannelToo) {
  const at::Tensor x = at::tensor({0.0F, 3.0F}).reshape({2, 1});
  EXPECT_EQ(observed("ema_min_max", "int8 symmetric channel:0", {x}),
            observed("min_max", "int8 symmetric channel:0", {x}));
}

TEST(EmaMinMaxObserver, RefusesBothWeights) {
  EXPECT_NE(message_of([] {
              observer_of("ema_min_max", "int8", {{"ema_ratio", 0.9}, {"averaging_constant", 0.1}});
            }).find("not both"),
            std::string::npos);
  EXPECT_NE(message_of([] { observer_of("ema_min_max", "int8", {{"ema_ratio", 1.5}}); }).find("between 0 and 1"),
            std::string::npos);
}

// docs/numerics.md 6.0: averages merge by their mean, here over three batches and one.
TEST(EmaMinMaxObserver, MergesByTheMeanOverBatches) {
  const auto first = observer_of("ema_min_max", "int8 symmetric tensor narrow");
  const auto second = observer_of("ema_min_max", "int8 symmetric tensor narrow");
  for (int i = 0; i < 3; ++i) first->observe(between(-4, 4));
  second->observe(between(-8, 8));
  first->merge(*second);
  EXPECT_FLOAT_EQ(first->qparams().scale[0], 5.0F / 127.0F);
}

}  // namespace
}  // namespace quench

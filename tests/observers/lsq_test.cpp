#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

TEST(LsqObserver, IsTwiceTheMeanMagnitudeByTheRootOfQmax) {
  const at::Tensor x = at::tensor({1.0F, -2.0F, 3.0F, -6.0F});  // mean magnitude 3
  EXPECT_FLOAT_EQ(observed("lsq", "int4 symmetric tensor", {x}).scale[0], 6.0F / std::sqrt(7.0F));
  EXPECT_FLOAT_EQ(observed("lsq", "uint4 symmetric tensor", {x.abs()}).scale[0], 6.0F / std::sqrt(15.0F));
  const QParams channels = observed("lsq", "int4 symmetric channel:0", {x.reshape({2, 2})});
  EXPECT_FLOAT_EQ(channels.scale[0], 3.0F / std::sqrt(7.0F));
  EXPECT_FLOAT_EQ(channels.scale[1], 9.0F / std::sqrt(7.0F));
}

// D15: the mean of all batches, not of the last.
TEST(LsqObserver, AveragesOverAllBatches) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({6, 4, 5});
  const QParams whole = observed("lsq", "int8 symmetric channel:1", {x});
  // Sums in float64 in another order: the float32 result may round the other way.
  const QParams parts = observed("lsq", "int8 symmetric channel:1", {x.slice(0, 0, 1), x.slice(0, 1, 6)});
  const QParams halves = merged("lsq", "int8 symmetric channel:1", {x.slice(0, 0, 2), x.slice(0, 2, 6)});
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_FLOAT_EQ(parts.scale[c], whole.scale[c]);
    EXPECT_FLOAT_EQ(halves.scale[c], whole.scale[c]);
  }
}

TEST(LsqObserver, ClampsTheZeroPoint) {
  // Mean magnitude 5.05 gives s = 2.6; -100 / s = -38 would put z at 38, beyond 15.
  const QParams params =
      observed("lsq", "uint4 affine tensor", {at::cat({at::full({99}, 4.0F), at::full({1}, -100.0F)})});
  EXPECT_EQ(params.zero_point[0], 15);
}

TEST(LsqObserver, HasTheFloorAndThePowerOfTwo) {
  EXPECT_EQ(observed("lsq", "int8 symmetric tensor", {at::zeros({3})}).scale[0], std::ldexp(1.0F, -23));
  EXPECT_EQ(observed("lsq", "int8 symmetric tensor pot", {at::full({3}, 0.9F)}).scale[0],
            0.125F);  // 2 / sqrt 127 = 0.177
  EXPECT_FLOAT_EQ(observed("lsq", "int1 symmetric tensor", {at::full({3}, 1.0F)}).scale[0], 2.0F);
}

}  // namespace
}  // namespace quench

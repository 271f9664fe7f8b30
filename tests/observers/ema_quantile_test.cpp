#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

// docs/numerics.md 6.3 with ATen's own histogram.
float clip_by_aten(const at::Tensor& x, double threshold) {
  const at::Tensor magnitudes = x.abs();
  const auto top = magnitudes.max().item<float>();
  const at::Tensor cumulated = at::histc(magnitudes, 2048, 0, top).to(at::kDouble).cumsum(0);
  const auto bin = (cumulated < threshold * static_cast<double>(x.numel())).sum().item<std::int64_t>();
  return static_cast<float>((static_cast<double>(bin) + 0.5) * top / 2048);
}

TEST(EmaQuantileObserver, ClipsBothTailsAtOneMagnitude) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({20000}) + 0.5;
  const float clip = clip_by_aten(x, 0.99);
  const QParams found = observed("ema_quantile", "uint8 affine tensor", {x}, {{"threshold", 0.99}});
  const QParams wanted =
      qparams_of_range(QScheme::parse("uint8 affine tensor"), {std::max(x.min().item<float>(), -clip)}, {clip});
  EXPECT_FLOAT_EQ(found.scale[0], wanted.scale[0]);
  EXPECT_EQ(found.zero_point, wanted.zero_point);
}

TEST(EmaQuantileObserver, AveragesOverBatches) {
  at::manual_seed(2);
  const at::Tensor a = at::randn({9000}), b = at::randn({9000}) * 3;
  const float clip = clip_by_aten(a, 0.999) * 0.9F + clip_by_aten(b, 0.999) * 0.1F;
  EXPECT_FLOAT_EQ(observed("ema_quantile", "int8 symmetric tensor narrow", {a, b}, {{"threshold", 0.999}}).scale[0],
                  clip / 127);
}

TEST(EmaQuantileObserver, KeepsAllWithAThresholdOfOne) {
  const at::Tensor x = at::arange(1, 101, at::kFloat);
  // The centre of the last bin, not its end.
  EXPECT_FLOAT_EQ(observed("ema_quantile", "uint8 symmetric tensor", {x}, {{"threshold", 1.0}}).scale[0],
                  100.0F * 2047.5F / 2048 / 255);
  EXPECT_NE(message_of([] { observer_of("ema_quantile", "int8", {{"threshold", 1.5}}); }).find("between 0 and 1"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

#include <gtest/gtest.h>

#include "observers/observing.h"

namespace quench {
namespace {

QParams by_aten(const at::Tensor& x, double reach) {
  const at::Tensor wide = x.to(at::kDouble);
  const double mean = wide.mean().item<double>(), deviation = wide.std(true).item<double>();
  return qparams_of_range(QScheme::parse("uint8 affine tensor"),
                          {std::max(x.min().item<float>(), static_cast<float>(mean - reach * deviation))},
                          {std::min(x.max().item<float>(), static_cast<float>(mean + reach * deviation))});
}

void expect_close(const QParams& found, const QParams& wanted) {
  EXPECT_FLOAT_EQ(found.scale[0], wanted.scale[0]);  // float64 sums in another order
  EXPECT_EQ(found.zero_point, wanted.zero_point);
}

// D4: really clips, with the statistics of all batches.
TEST(ClipStdObserver, ClipsAtDeviationsOfAllBatches) {
  at::manual_seed(1);
  std::vector<at::Tensor> batches;
  for (int i = 0; i < 4; ++i) batches.push_back(at::randn({3000}) + 0.1 * i);
  const at::Tensor all = at::cat(batches);
  expect_close(observed("clip_std", "uint8 affine tensor", batches), by_aten(all, 2.6));
  expect_close(merged("clip_std", "uint8 affine tensor", batches), by_aten(all, 2.6));
  EXPECT_LT(observed("clip_std", "uint8 affine tensor", batches).scale[0],
            observed("min_max", "uint8 affine tensor", batches).scale[0]);
}

TEST(ClipStdObserver, NeverWidens) {
  at::manual_seed(2);
  const at::Tensor x = at::rand({1000});  // 2.6 deviations reach to 1.25
  EXPECT_EQ(observed("clip_std", "uint8 affine tensor", {x}), observed("min_max", "uint8 affine tensor", {x}));
  const at::Tensor normal = at::randn({5000});
  expect_close(observed("clip_std", "uint8 affine tensor", {normal}, {{"std_scale", 1.0}}), by_aten(normal, 1.0));
}

TEST(ClipStdObserver, RefusesNoReach) {
  EXPECT_NE(message_of([] { observer_of("clip_std", "int8", {{"std_scale", 0.0}}); }).find("must be positive"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

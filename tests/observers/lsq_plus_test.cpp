#include <gtest/gtest.h>

#include <cmath>

#include "observers/observing.h"

namespace quench {
namespace {

// D15: the paper's rule over all batches; MQBench's scale is half of it.
TEST(LsqPlusObserver, WeightsAreThreeDeviationsByTheSignedCodes) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({4000}) * 0.3 + 0.1, wide = x.to(at::kDouble);
  const double mean = wide.mean().item<double>(), reach = 3 * wide.std(true).item<double>();
  const double wanted = std::max(std::abs(mean - reach), std::abs(mean + reach)) / 128;
  EXPECT_FLOAT_EQ(observed("lsq_plus", "int8 symmetric tensor", {x}).scale[0], static_cast<float>(wanted));
  EXPECT_FLOAT_EQ(observed("lsq_plus", "int8 symmetric tensor", {x.slice(0, 0, 1000), x.slice(0, 1000, 4000)}).scale[0],
                  static_cast<float>(wanted));
  EXPECT_FLOAT_EQ(merged("lsq_plus", "int8 symmetric tensor", {x.slice(0, 0, 1000), x.slice(0, 1000, 4000)}).scale[0],
                  static_cast<float>(wanted));
}

TEST(LsqPlusObserver, ActivationsHaveTheLeastSquaredError) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({20000}).relu() - 0.1;
  EXPECT_EQ(observed("lsq_plus", "uint4 affine tensor", {x}), observed("mse", "uint4 affine tensor", {x}));
  EXPECT_EQ(observed("lsq_plus", "int4 symmetric tensor", {x}, {{"role", std::string("activation")}}),
            observed("mse", "int4 symmetric tensor", {x}));
  EXPECT_NE(observed("lsq_plus", "int4 symmetric tensor", {x}), observed("mse", "int4 symmetric tensor", {x}));
}

TEST(LsqPlusObserver, RefusesAnUnknownRole) {
  EXPECT_NE(message_of([] {
              observer_of("lsq_plus", "int8", {{"role", std::string("weigth")}});
            }).find("did you mean 'weight'"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(MeanSquaredError, IsTheMeanOverAllElementsOfAllItems) {
  const std::vector<MetricItem> items = {item_with_target(at::tensor({1.0F, 2.0F}), at::tensor({1.0F, 4.0F})),
                                         item_with_target(at::tensor({3.0F}), at::tensor({0.0F}))};
  EXPECT_DOUBLE_EQ(value_of("mse", items), (0 + 4 + 9) / 3.0);
}

TEST(MeanSquaredError, IsTakenToTheFloatNetworkIfAskedTo) {
  EXPECT_DOUBLE_EQ(value_of("mse:to=float", {item_with_reference(at::tensor({1, 2}), at::tensor({1.5F, 2.0F}))}),
                   0.125);
  EXPECT_EQ(metric_of("mse:to=float")->need(), MetricNeed::kFloat);
  EXPECT_EQ(metric_of("mse")->need(), MetricNeed::kTargets);
}

TEST(MeanSquaredError, IgnoresAxesOfOneElementOnly) {
  EXPECT_DOUBLE_EQ(value_of("mse", {item_with_target(at::ones({1, 3}), at::zeros({3}))}), 1.0);
  EXPECT_ERROR(value_of("mse", {item_with_target(at::ones({3, 2}), at::zeros({2, 3}))}),
               "the output for item 'item' has the shape [3, 2], but its target has [2, 3]");
  EXPECT_ERROR(metric_of("mse:to=flaot"), "to must be target or float, not 'flaot'");
  EXPECT_ERROR(metric_of("mse:to=float,target=x"), "to=float compares with the float network: omit target=");
}

}  // namespace
}  // namespace quench

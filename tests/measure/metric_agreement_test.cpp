#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(AgreementMetric, CountsItemsWithTheSameLargestScore) {
  const std::vector<MetricItem> items = {item_with_reference(at::tensor({1, 2, 3}), at::tensor({0, 0, 9})),
                                         item_with_reference(at::tensor({1, 2, 3}), at::tensor({0, 9, 0})),
                                         item_with_reference(at::tensor({5, 2, 3}), at::tensor({9, 0, 0}))};
  const auto metric = metric_of("agreement");
  EXPECT_DOUBLE_EQ(value_of(*metric, items), 2.0 / 3);
  std::vector<ItemStatistic> statistics;
  for (const MetricItem& item : items) statistics.push_back(metric->measure(item));
  EXPECT_EQ(metric->right(statistics), 2);
}

// [2 rows, 3 scores]: one of two rows agrees. Along the other axis there are three rows of two.
TEST(AgreementMetric, CountsRowsOfScores) {
  const at::Tensor a = at::tensor({1, 2, 3, 9, 0, 1}).view({2, 3}), b = at::tensor({1, 2, 4, 0, 9, 1}).view({2, 3});
  EXPECT_EQ(metric_of("agreement")->measure(item_with_reference(a, b)), (ItemStatistic{1, 2}));
  EXPECT_EQ(metric_of("agreement")->right({{1, 2}}), std::nullopt);
  EXPECT_EQ(metric_of("agreement:axis=0")->measure(item_with_reference(a, b)), (ItemStatistic{1, 3}));
  EXPECT_EQ(metric_of("agreement")->measure(item_with_reference(a.view({6, 1, 1}), b.view({6, 1, 1}))),
            (ItemStatistic{0, 1}));
}

TEST(AgreementMetric, SaysWhatDoesNotFit) {
  EXPECT_ERROR(metric_of("agreement:axis=2")->measure(item_with_reference(at::ones({2, 3}), at::ones({2, 3}))),
               "there is no axis 2 in the output for item 'item', whose shape is [2, 3]");
  EXPECT_ERROR(metric_of("agreement")->measure(item_with_reference(at::ones({2, 3}), at::ones({2, 4}))),
               "the output for item 'item' has the shape [2, 3], but that of the float network has [2, 4]");
}

}  // namespace
}  // namespace quench

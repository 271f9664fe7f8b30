#include "measure/metrics/top_k.h"

#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const at::Tensor& scores() {
  static const at::Tensor tensor = at::tensor({0.5F, 3.0F, 2.0F, 1.0F, -1.0F, -2.0F, 4.0F});  // 6 1 2 3 0 4 5
  return tensor;
}

TEST(TopK, CountsTheLabelAmongTheFirstK) {
  for (const std::int64_t label : {6, 1, 2}) {
    const int rank = label == 6 ? 1 : label == 1 ? 2 : 3;
    EXPECT_EQ(value_of("top1", {item_with_output(scores(), label)}), rank <= 1 ? 1 : 0) << label;
    EXPECT_EQ(value_of("topk:k=2", {item_with_output(scores(), label)}), rank <= 2 ? 1 : 0) << label;
    EXPECT_EQ(value_of("top5", {item_with_output(scores(), label)}), 1) << label;
  }
  EXPECT_EQ(value_of("top5", {item_with_output(scores(), 4), item_with_output(scores(), 0)}), 0.5);
  EXPECT_EQ(value_of("topk:k=100", {item_with_output(scores(), 5)}), 1);
}

TEST(TopK, KnowsThePredictionOfAnItem) {
  const ItemStatistic statistic = TopK(1, "").measure(item_with_output(scores(), 2));
  EXPECT_EQ(prediction_of(9, "nine", statistic), (Prediction{9, "nine", 2, 6, 1, 4.0, 3.0}));
  EXPECT_EQ(TopK(1, "").right({statistic}), 0);
}

TEST(TopK, TakesScoresOfAnyShape) {
  EXPECT_EQ(value_of("top1", {item_with_output(scores().reshape({7, 1, 1}), 6)}), 1);
}

TEST(TopK, SaysWhatDoesNotFit) {
  EXPECT_ERROR(value_of("top1", {item_with_output(scores(), 7)}),
               "item 'item' has label 7, but the model has 7 classes");
  EXPECT_ERROR(value_of("top1", {item_with_output(scores())}), "item 'item' has label -1");
  EXPECT_ERROR(value_of("top1", {item_with_output(at::ones({1}), 0)}),
               "the model's output has 1 class; at least 2 were expected");
  EXPECT_ERROR(value_of("top1", {item_with_output(at::scalar_tensor(1.0), 0)}),
               "the model's output has one number for each item; logits of [batch, classes] were expected");
  EXPECT_ERROR(value_of("top1", {item_with_output(at::ones({4, 3, 3}), 0)}),
               "the model's output has the shape [4, 3, 3] for each item; one score per class was expected");
  EXPECT_ERROR(value_of("top1", {item_with_output(at::tensor({1.0F, NAN}), 0)}), "the model gives NaN for item 'item'");
}

}  // namespace
}  // namespace quench

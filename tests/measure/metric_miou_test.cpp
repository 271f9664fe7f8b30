#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

at::Tensor classes(std::vector<std::int64_t> pixels, std::int64_t height, std::int64_t width) {
  return at::tensor(pixels, at::kLong).view({height, width});
}

// Scores that are largest at the given classes.
at::Tensor scores_of(const at::Tensor& map, std::int64_t count) {
  return at::one_hot(map, count).permute({2, 0, 1}).to(at::kFloat);
}

// Class 0: 2 in both, 3 predicted, 3 true: 2/4. Class 1: 2 in both, 3, 3: 2/4. Class 2 occurs nowhere.
TEST(MeanIou, IsTheMeanOverTheClassesThatOccur) {
  const at::Tensor mask = classes({0, 0, 0, 1, 1, 1}, 2, 3), found = classes({0, 0, 1, 0, 1, 1}, 2, 3);
  EXPECT_DOUBLE_EQ(value_of("miou", {item_with_target(scores_of(found, 3), mask)}), 0.5);
  EXPECT_DOUBLE_EQ(value_of("miou:classes=3", {item_with_target(found, mask)}), 0.5);
}

// A second item has class 2 alone, found in 3 of 6 pixels; in the other 3 class 0 is found. Over both items
// class 0: 2 / (6 + 3 - 2), class 1: 2/4, class 2: 3/6.
TEST(MeanIou, AddsPixelsOfAllItemsBeforeItDivides) {
  const std::vector<MetricItem> items = {
      item_with_target(scores_of(classes({0, 0, 1, 0, 1, 1}, 2, 3), 3), classes({0, 0, 0, 1, 1, 1}, 2, 3)),
      item_with_target(scores_of(classes({2, 2, 2, 0, 0, 0}, 2, 3), 3), at::full({2, 3}, 2, at::kLong))};
  const auto metric = metric_of("miou");
  EXPECT_DOUBLE_EQ(value_of(*metric, items), (2.0 / 7 + 0.5 + 0.5) / 3);
  std::vector<ItemStatistic> statistics;
  for (const MetricItem& item : items) statistics.push_back(metric->measure(item));
  // The first item alone, drawn twice.
  EXPECT_DOUBLE_EQ(metric->combine(statistics)({2, 0}), 0.5);
  const auto details = metric->details(statistics);
  ASSERT_EQ(details.size(), 4U);
  EXPECT_EQ(details[0].first, "class 0");
  EXPECT_DOUBLE_EQ(details[0].second, 2.0 / 7);
  EXPECT_EQ(details[3].first, "pixels");
  EXPECT_DOUBLE_EQ(details[3].second, 7.0 / 12);
}

TEST(MeanIou, DoesNotCountWhatIsIgnored) {
  const at::Tensor mask = classes({0, 255, -1, 1}, 2, 2), found = classes({0, 1, 0, 1}, 2, 2);
  EXPECT_DOUBLE_EQ(value_of("miou", {item_with_target(scores_of(found, 2), mask)}), 1.0);
  EXPECT_DOUBLE_EQ(
      value_of("miou:ignore_index=0", {item_with_target(scores_of(found, 2), classes({0, 1, 0, 1}, 2, 2))}), 1.0);
}

// Scores of 1x2 over a mask of 2x4: bilinear, the border between the two lies in the middle. The network's input is as
// large as the mask, with its channels in front or behind.
TEST(MeanIou, ResizesScoresToAMaskOfTheInput) {
  const at::Tensor scores = scores_of(classes({0, 1}, 1, 2), 2);
  MetricItem item = item_with_target(scores, classes({0, 0, 1, 1, 0, 0, 1, 1}, 2, 4));
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{3, 2, 4}, {2, 4, 3}}) {
    item.inputs["x"] = at::zeros(shape);
    EXPECT_DOUBLE_EQ(value_of("miou", {item}), 1.0);
  }
  item.inputs["x"] = at::zeros({3, 4, 2});
  EXPECT_ERROR(value_of("miou", {item}),
               "the mask of item 'item' has the shape [2, 4], which is neither the output's [1, 2] nor that of the "
               "model's input");
}

TEST(MeanIou, SaysWhatDoesNotFit) {
  const at::Tensor mask = classes({0, 0, 2, 1}, 2, 2);
  EXPECT_ERROR(value_of("miou", {item_with_target(scores_of(classes({0, 0, 0, 0}, 2, 2), 2), mask)}),
               "the mask of item 'item' holds class 2, but there are 2 (classes=N, ignore_index=N)");
  EXPECT_ERROR(value_of("miou", {item_with_target(mask, mask)}),
               "the output holds classes, not scores: give classes=N");
  EXPECT_ERROR(value_of("miou:classes=3", {item_with_target(mask.view({1, 4}), mask)}),
               "the output for item 'item' has the shape [1, 4], but its mask has [2, 2]");
  EXPECT_ERROR(value_of("miou", {item_with_target(at::ones({2, 2}), mask)}),
               "scores of [classes, height, width], or integers, were expected");
  EXPECT_ERROR(value_of("miou", {item_with_target(at::ones({2, 2, 2}), at::full({2, 2}, 0.5F))}),
               "the mask of item 'item' holds float, not integers: its numbers must be classes");
  EXPECT_ERROR(value_of("miou", {item_with_target(at::ones({2, 2, 2}), at::ones({3, 2, 2}, at::kLong))}),
               "the mask of item 'item' has the shape [3, 2, 2]; [height, width] was expected");
}

}  // namespace
}  // namespace quench

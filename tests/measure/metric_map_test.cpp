// Mean average precision, on pictures small enough to do it by hand.
#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

struct Row {
  std::vector<double> box;
  double score;
  std::int64_t label;
};

MetricItem picture(const std::vector<Row>& found, const std::vector<Row>& wanted) {
  const auto boxes = [](const std::vector<Row>& rows) {
    std::vector<double> numbers;
    for (const Row& row : rows) numbers.insert(numbers.end(), row.box.begin(), row.box.end());
    return at::tensor(numbers, at::kDouble).view({-1, 4});
  };
  const auto labels = [](const std::vector<Row>& rows) {
    std::vector<std::int64_t> numbers;
    for (const Row& row : rows) numbers.push_back(row.label);
    return at::tensor(numbers, at::kLong);
  };
  std::vector<double> scores;
  for (const Row& row : found) scores.push_back(row.score);
  MetricItem item;
  item.name = "picture";
  item.outputs = {{"boxes", boxes(found)}, {"scores", at::tensor(scores, at::kDouble)}, {"labels", labels(found)}};
  item.targets = {{"boxes", boxes(wanted)}, {"labels", labels(wanted)}};
  return item;
}

const std::vector<double> kA = {0, 0, 10, 10}, kB = {20, 0, 30, 10}, kNowhere = {50, 50, 60, 60};

TEST(MeanAveragePrecision, IsOneWhereAllIsFound) {
  EXPECT_NEAR(value_of("map", {picture({{kA, 0.9, 1}, {kB, 0.8, 2}}, {{kA, 1, 1}, {kB, 1, 2}})}), 1.0, 1e-12);
}

// Two objects: right at 0.9, wrong at 0.8, right at 0.7. Precision is 1 up to recall 0.5 (51 points: 0 to 0.50), then
// 2/3 up to 1 (50 points).
TEST(MeanAveragePrecision, IsTheMeanOf101PointsOfRecall) {
  const auto item = picture({{kA, 0.9, 1}, {kNowhere, 0.8, 1}, {kB, 0.7, 1}}, {{kA, 1, 1}, {kB, 1, 1}});
  EXPECT_NEAR(value_of("map", {item}), (51 + 50 * 2.0 / 3) / 101, 1e-12);
}

// A wrong one first: the envelope of 0, 1/2, 2/3 is 2/3 everywhere.
TEST(MeanAveragePrecision, TakesTheBestPrecisionAtThatRecallOrMore) {
  const auto item = picture({{kNowhere, 0.9, 1}, {kA, 0.8, 1}, {kB, 0.7, 1}}, {{kA, 1, 1}, {kB, 1, 1}});
  EXPECT_NEAR(value_of("map", {item}), 2.0 / 3, 1e-12);
}

// An overlap of 0.7 is right at 0.50, 0.55, 0.60, 0.65 and 0.70.
TEST(MeanAveragePrecision, IsTheMeanOverThresholds) {
  const auto item = picture({{{0, 0, 10, 7}, 0.9, 1}}, {{kA, 1, 1}});
  EXPECT_NEAR(value_of("map", {item}), 0.5, 1e-12);
  EXPECT_NEAR(value_of("map:iou=0.5", {item}), 1.0, 1e-12);
  EXPECT_NEAR(value_of("map:iou=0.5,0.75", {item}), 0.5, 1e-12);
}

// Category 1 is found, category 2 is not, category 3 has no object: its wrong detection lowers nothing.
TEST(MeanAveragePrecision, IsTheMeanOverCategoriesWithObjects) {
  const auto item = picture({{kA, 0.9, 1}, {kNowhere, 0.9, 3}}, {{kA, 1, 1}, {kB, 1, 2}});
  EXPECT_NEAR(value_of("map", {item}), 0.5, 1e-12);
}

TEST(MeanAveragePrecision, DetailsAreCocosOtherFigures) {
  const std::vector<double> large = {0, 0, 100, 100};
  const auto item = picture({{kA, 0.9, 1}, {{0, 0, 100, 60}, 0.8, 1}}, {{kA, 1, 1}, {large, 1, 1}});
  const auto metric = metric_of("map");
  std::map<std::string, double> details;
  for (const auto& [name, value] : metric->details({metric->measure(item)})) details[name] = value;
  EXPECT_NEAR(details.at("IoU 0.5"), 1.0, 1e-12);
  EXPECT_NEAR(details.at("IoU 0.75"), 51.0 / 101, 1e-12);  // the large one, found by 0.6, is wrong there
  EXPECT_NEAR(details.at("small"), 1.0, 1e-12);
  EXPECT_NEAR(details.at("large"), 0.3, 1e-12);  // right at 0.50, 0.55 and 0.60
  EXPECT_FALSE(details.contains("medium"));
  EXPECT_NEAR(details.at("recall"), (3 * 1.0 + 7 * 0.5) / 10, 1e-12);
}

// An item that is drawn twice is two pictures alike: objects, right and wrong detections all count twice.
TEST(MeanAveragePrecision, OfDrawsIsThatOfPicturesRepeated) {
  const std::vector<MetricItem> items = {picture({{kA, 0.9, 1}, {kNowhere, 0.85, 1}}, {{kA, 1, 1}, {kB, 1, 1}}),
                                         picture({{kNowhere, 0.95, 1}, {kB, 0.6, 1}}, {{kB, 1, 1}}),
                                         picture({{kA, 0.7, 1}}, {{kA, 1, 2}})};
  const auto metric = metric_of("map");
  std::vector<ItemStatistic> statistics;
  for (const MetricItem& item : items) statistics.push_back(metric->measure(item));
  EXPECT_NEAR(metric->combine(statistics)({2, 0, 1}), value_of(*metric, {items[0], items[0], items[2]}), 1e-12);
  EXPECT_NEAR(metric->combine(statistics)({0, 3, 0}), value_of(*metric, {items[1], items[1], items[1]}), 1e-12);
  EXPECT_TRUE(std::isnan(value_of("map", {picture({{kA, 0.5, 1}}, {})})));
}

TEST(MeanAveragePrecision, RefusesImpossibleOptions) {
  EXPECT_ERROR(metric_of("map:iou=0.5,x"), "option 'iou' of metric 'map' must be a list of numbers");
  EXPECT_ERROR(metric_of("map:iou=1.5"), "a threshold of IoU lies above 0 and at most at 1, not at 1.5");
  EXPECT_ERROR(metric_of("map:max_dets=0"), "option 'max_dets' must be at least 1, not 0");
}

}  // namespace
}  // namespace quench

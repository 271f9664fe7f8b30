// map: mean average precision of boxes by COCO's definition (cocoapi, COCOeval.accumulate): the mean over thresholds of
// IoU and categories of the precision at 101 points of recall. A statistic holds what match_boxes found for one item:
//   for each category: its id, how many objects of each area it has, how many detections follow,
//   for each of these: its score and, for each area, the verdicts of all thresholds in one number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "measure/metrics/match_boxes.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr int kRecallPoints = 101;
constexpr std::size_t kMostThresholds = 24;  // two bits each, in a number with 53
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// COCO's: 0.50, 0.55 ... 0.95.
std::vector<double> usual_thresholds() {
  std::vector<double> thresholds;
  for (int i = 0; i < 9; ++i) thresholds.push_back(0.5 + i * ((0.95 - 0.5) / 9));
  thresholds.push_back(0.95);
  return thresholds;
}

std::vector<double> thresholds_of(const Options& options) {
  if (options.word("iou").empty()) return usual_thresholds();
  const std::vector<double> thresholds = numbers_of(options.word("iou"), "option 'iou' of metric 'map'");
  QUENCH_CHECK(thresholds.size() <= kMostThresholds, "at most ", kMostThresholds, " thresholds of IoU, not ",
               thresholds.size());
  for (const double one : thresholds)
    QUENCH_CHECK(one > 0 && one <= 1, "a threshold of IoU lies above 0 and at most at 1, not at ", one);
  return thresholds;
}

double packed(const std::vector<Verdict>& verdicts) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) bits |= static_cast<std::uint64_t>(verdicts[i]) << (2 * i);
  return static_cast<double>(bits);
}

Verdict verdict_in(std::uint64_t bits, std::size_t threshold) {
  return static_cast<Verdict>(bits >> (2 * threshold) & 3U);
}

using PerArea = std::array<std::uint64_t, kAreas.size()>;

struct Found {
  std::size_t item = 0;
  double score = 0.0;
  PerArea verdicts = {};
};

struct Category {
  std::vector<Found> found;                              // of all items, the best first
  std::vector<std::pair<std::size_t, PerArea>> objects;  // by item, how many of each area
};

// Reads one statistic back, into the categories.
void unpack(std::size_t item, const ItemStatistic& statistic, std::map<std::int64_t, Category>& categories) {
  auto at = statistic.begin();
  while (at != statistic.end()) {
    Category& category = categories[static_cast<std::int64_t>(*at++)];
    PerArea objects = {};
    for (std::uint64_t& count : objects) count = static_cast<std::uint64_t>(*at++);
    category.objects.emplace_back(item, objects);
    for (auto left = static_cast<std::int64_t>(*at++); left > 0; --left) {
      Found one{item, *at++, {}};
      for (std::uint64_t& verdicts : one.verdicts) verdicts = static_cast<std::uint64_t>(*at++);
      category.found.push_back(one);
    }
  }
}

std::map<std::int64_t, Category> categories_of(const std::vector<ItemStatistic>& items) {
  std::map<std::int64_t, Category> categories;
  for (std::size_t i = 0; i < items.size(); ++i) unpack(i, items[i], categories);
  for (auto& [id, category] : categories)
    std::stable_sort(category.found.begin(), category.found.end(),
                     [](const Found& a, const Found& b) { return a.score > b.score; });
  return categories;
}

// Recall and precision after each right detection. An item that is drawn several times counts as often.
struct Curve {
  std::vector<double> recall, precision;
};

double objects_in(const Category& category, std::size_t area, const std::vector<int>& times) {
  double count = 0.0;
  for (const auto& [item, objects] : category.objects) count += times[item] * static_cast<double>(objects[area]);
  return count;
}

Curve curve_of(const Category& category, std::size_t area, std::size_t threshold, double objects,
               const std::vector<int>& times) {
  Curve curve;
  double right = 0.0, wrong = 0.0;
  for (const Found& one : category.found) {
    const int drawn = times[one.item];
    const Verdict verdict = verdict_in(one.verdicts[area], threshold);
    if (drawn == 0 || verdict == Verdict::kIgnored) continue;
    (verdict == Verdict::kRight ? right : wrong) += drawn;
    if (verdict != Verdict::kRight) continue;
    curve.recall.push_back(right / objects);
    curve.precision.push_back(right / (right + wrong + std::numeric_limits<double>::epsilon()));
  }
  return curve;
}

double average_precision(Curve curve) {
  for (std::size_t i = curve.precision.size(); i > 1; --i)
    curve.precision[i - 2] = std::max(curve.precision[i - 2], curve.precision[i - 1]);
  double sum = 0.0;
  for (int point = 0; point < kRecallPoints; ++point) {
    const auto at = std::lower_bound(curve.recall.begin(), curve.recall.end(), point * 0.01);
    if (at == curve.recall.end()) break;
    sum += curve.precision[static_cast<std::size_t>(at - curve.recall.begin())];
  }
  return sum / kRecallPoints;
}

class MeanAveragePrecision : public Metric {
 public:
  explicit MeanAveragePrecision(const Options& options)
      : layout_(options), thresholds_(thresholds_of(options)), most_(whole_option(options, "max_dets")) {
    QUENCH_CHECK(most_ > 0, "option 'max_dets' must be at least 1, not ", most_);
  }
  static std::vector<OptionInfo> options() {
    std::vector<OptionInfo> all = BoxLayout::options();
    all.push_back({"iou", std::string(), "thresholds of IoU, such as 0.5,0.75; default: 0.50, 0.55 ... 0.95"});
    all.push_back({"max_dets", 100.0, "detections of a category and picture that count"});
    return all;
  }
  MetricNeed need() const override { return MetricNeed::kTargets; }
  std::vector<std::string> outputs() const override { return layout_.outputs(); }

  ItemStatistic measure(const MetricItem& item) const override {
    ItemStatistic statistic;
    for (const auto& [id, category] : match_boxes(layout_.detections(item), true_boxes(item), thresholds_, most_)) {
      statistic.push_back(static_cast<double>(id));
      for (const std::int64_t count : category.objects) statistic.push_back(static_cast<double>(count));
      statistic.push_back(static_cast<double>(category.detections.size()));
      for (const MatchedDetection& one : category.detections) {
        statistic.push_back(one.score);
        for (const std::vector<Verdict>& verdicts : one.verdicts) statistic.push_back(packed(verdicts));
      }
    }
    return statistic;
  }

  ValueOf combine(const std::vector<ItemStatistic>& items) const override {
    const auto categories = std::make_shared<std::map<std::int64_t, Category>>(categories_of(items));
    return [this, categories](const std::vector<int>& times) { return mean(*categories, 0, all(), times); };
  }

  std::vector<std::pair<std::string, double>> details(const std::vector<ItemStatistic>& items) const override {
    const std::map<std::int64_t, Category> categories = categories_of(items);
    const std::vector<int> once(items.size(), 1);
    std::vector<std::pair<std::string, double>> found;
    const auto add = [&](const std::string& name, double value) {
      if (!std::isnan(value)) found.emplace_back(name, value);
    };
    for (std::size_t i = 0; i < thresholds_.size(); ++i)
      for (const double usual : {0.5, 0.75})
        if (std::abs(thresholds_[i] - usual) < 1e-9) add(concat("IoU ", usual), mean(categories, 0, {i}, once));
    for (std::size_t area = 1; area < kAreas.size(); ++area) add(kAreaNames[area], mean(categories, area, all(), once));
    add("recall", mean_recall(categories, once));
    return found;
  }

 private:
  std::vector<std::size_t> all() const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < thresholds_.size(); ++i) places.push_back(i);
    return places;
  }

  // Over the categories that have objects, and these thresholds.
  static double mean(const std::map<std::int64_t, Category>& categories, std::size_t area,
                     const std::vector<std::size_t>& thresholds, const std::vector<int>& times) {
    double sum = 0.0, count = 0.0;
    for (const auto& [id, category] : categories) {
      const double objects = objects_in(category, area, times);
      if (objects == 0) continue;
      for (const std::size_t threshold : thresholds)
        sum += average_precision(curve_of(category, area, threshold, objects, times));
      count += static_cast<double>(thresholds.size());
    }
    return count > 0 ? sum / count : kNothing;
  }

  double mean_recall(const std::map<std::int64_t, Category>& categories, const std::vector<int>& times) const {
    double sum = 0.0, count = 0.0;
    for (const auto& [id, category] : categories) {
      const double objects = objects_in(category, 0, times);
      if (objects == 0) continue;
      for (std::size_t threshold = 0; threshold < thresholds_.size(); ++threshold, ++count) {
        const Curve curve = curve_of(category, 0, threshold, objects, times);
        sum += curve.recall.empty() ? 0.0 : curve.recall.back();
      }
    }
    return count > 0 ? sum / count : kNothing;
  }

  BoxLayout layout_;
  std::vector<double> thresholds_;
  std::int64_t most_;
};

}  // namespace

QUENCH_REGISTER_ITEM(MetricEntry, "map", "mean average precision of boxes, as COCO defines it",
                     {new_metric<MeanAveragePrecision>, "%", MetricBetter::kHigher, MeanAveragePrecision::options()})

}  // namespace quench

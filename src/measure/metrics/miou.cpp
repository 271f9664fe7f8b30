// miou: intersection over union of predicted and true pixels, by class, over all items together; the mean over the
// classes that occur. Scores of another size than the mask are resized to it first (bilinear, corners not aligned). A
// statistic holds, class by class, how many pixels are in the intersection, predicted and true.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quench/error.h"
#include "quench/metric.h"

namespace quench {
namespace {

enum Count : std::uint8_t { kBoth, kPredicted, kTrue, kCounts };

// Per class: nothing where it neither occurs nor is predicted.
double iou(const std::vector<double>& sums, std::size_t one) {
  const double both = sums[one * kCounts + kBoth];
  const double either = sums[one * kCounts + kPredicted] + sums[one * kCounts + kTrue] - both;
  return either > 0 ? both / either : std::numeric_limits<double>::quiet_NaN();
}

double mean_iou(const std::vector<double>& sums) {
  double total = 0.0, classes = 0.0;
  for (std::size_t one = 0; one * kCounts < sums.size(); ++one) {
    const double value = iou(sums, one);
    if (std::isnan(value)) continue;
    total += value;
    ++classes;
  }
  return classes > 0 ? total / classes : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> sums_of(const std::vector<ItemStatistic>& items, const std::vector<int>& times) {
  std::vector<double> sums(items.empty() ? 0 : items[0].size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (times[i] == 0) continue;
    for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += times[i] * items[i][at];
  }
  return sums;
}

// Of the size of an input, whichever axis holds its channels: networks often give scores of a fraction of it.
bool is_of_input(const MetricItem& item, const at::Tensor& mask) {
  return std::any_of(item.inputs.begin(), item.inputs.end(), [&](const auto& input) {
    const at::IntArrayRef sizes = input.second.tensor().sizes();
    return sizes.size() >= 2 && (sizes.slice(sizes.size() - 2) == mask.sizes() || sizes.slice(0, 2) == mask.sizes());
  });
}

class MeanIou : public Metric {
 public:
  explicit MeanIou(const Options& options)
      : output_(options.word("output")),
        target_(options.word("target")),
        classes_(whole_option(options, "classes")),
        ignored_(whole_option(options, "ignore_index")) {
    QUENCH_CHECK(classes_ >= 0, "option 'classes' must be at least 0, not ", classes_);
  }
  MetricNeed need() const override { return MetricNeed::kTargets; }
  std::vector<std::string> outputs() const override { return {output_}; }

  ItemStatistic measure(const MetricItem& item) const override {
    const at::Tensor mask = mask_of(item);
    const auto [predicted, classes] = class_map(item, mask);
    const at::Tensor counted = (mask >= 0).logical_and(mask != ignored_);
    const at::Tensor truth = mask.masked_select(counted), found = predicted.masked_select(counted);
    check_range(item, "the mask", truth, classes);
    check_range(item, "the output", found, classes);
    const at::Tensor both = truth.masked_select(truth == found);
    const at::Tensor counts =
        at::stack({both.bincount({}, classes), found.bincount({}, classes), truth.bincount({}, classes)}, 1)
            .to(at::kDouble)
            .contiguous();
    const auto* numbers = counts.const_data_ptr<double>();
    return {numbers, numbers + counts.numel()};
  }

  ValueOf combine(const std::vector<ItemStatistic>& items) const override {
    for (const ItemStatistic& item : items)
      QUENCH_CHECK(item.size() == items[0].size(), "the items have different numbers of classes");
    return [&items](const std::vector<int>& times) { return mean_iou(sums_of(items, times)); };
  }

  std::vector<std::pair<std::string, double>> details(const std::vector<ItemStatistic>& items) const override {
    const std::vector<double> sums = sums_of(items, std::vector<int>(items.size(), 1));
    std::vector<std::pair<std::string, double>> found;
    double right = 0.0, all = 0.0;
    for (std::size_t one = 0; one * kCounts < sums.size(); ++one) {
      right += sums[one * kCounts + kBoth];
      all += sums[one * kCounts + kTrue];
      if (const double value = iou(sums, one); !std::isnan(value)) found.emplace_back(concat("class ", one), value);
    }
    if (all > 0) found.emplace_back("pixels", right / all);
    return found;
  }

 private:
  at::Tensor mask_of(const MetricItem& item) const {
    const at::Tensor mask = target_of(item, target_).squeeze();
    QUENCH_CHECK(!mask.is_floating_point(), "the mask of item '", item.name, "' holds ", mask.dtype().name(),
                 ", not integers: its numbers must be classes");
    QUENCH_CHECK(mask.dim() == 2, "the mask of item '", item.name, "' has the shape ", mask.sizes(),
                 "; [height, width] was expected");
    return mask.to(at::kLong);
  }

  // The predicted class of each pixel of the mask, and how many classes there are.
  std::pair<at::Tensor, std::int64_t> class_map(const MetricItem& item, const at::Tensor& mask) const {
    const at::Tensor& output = item.outputs.at(output_).tensor();
    if (!output.is_floating_point()) {
      const at::Tensor map = output.squeeze().to(at::kLong);
      QUENCH_CHECK(map.sizes() == mask.sizes(), "the output for item '", item.name, "' has the shape ", output.sizes(),
                   ", but its mask has ", mask.sizes());
      QUENCH_CHECK(classes_ > 0, "the output holds classes, not scores: give classes=N");
      return {map, classes_};
    }
    QUENCH_CHECK(output.dim() == 3 && output.size(0) > 1, "the output for item '", item.name, "' has the shape ",
                 output.sizes(), "; scores of [classes, height, width], or integers, were expected");
    at::Tensor scores = output.to(at::kFloat);
    if (scores.sizes().slice(1) != mask.sizes()) {
      QUENCH_CHECK(is_of_input(item, mask), "the mask of item '", item.name, "' has the shape ", mask.sizes(),
                   ", which is neither the output's ", scores.sizes().slice(1), " nor that of the model's input");
      scores = at::upsample_bilinear2d(scores.unsqueeze(0), mask.sizes(), /*align_corners=*/false)[0];
    }
    return {scores.argmax(0), classes_ > 0 ? classes_ : scores.size(0)};
  }

  static void check_range(const MetricItem& item, const char* what, const at::Tensor& values, std::int64_t classes) {
    if (values.numel() == 0) return;
    const auto largest = values.max().item<std::int64_t>(), least = values.min().item<std::int64_t>();
    QUENCH_CHECK(least >= 0 && largest < classes, what, " of item '", item.name, "' holds class ",
                 least < 0 ? least : largest, ", but there are ", classes, " (classes=N, ignore_index=N)");
  }

  std::string output_, target_;
  std::int64_t classes_, ignored_;
};

}  // namespace

QUENCH_REGISTER_METRIC("miou", MeanIou, "mean over the classes of intersection over union of pixels", "%",
                       MetricBetter::kHigher,
                       {"output", std::string(), "the output with the scores; default: the first"},
                       {"target", std::string(), "which target, where an item has several"},
                       {"classes", 0.0, "how many; 0: as many as there are scores"},
                       {"ignore_index", 255.0, "pixels with this class are not counted, nor are negative ones"})

}  // namespace quench

#include "measure/metrics/top_k.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "data/top_classes.h"
#include "quench/error.h"

namespace quench {
namespace {

// Right or not, 1, and what a prediction says.
enum Place : std::uint8_t { kRight, kOne, kLabel, kFirst, kSecond, kFirstLogit, kSecondLogit, kPlaces };

template <std::int64_t k>
class Fixed : public TopK {
 public:
  explicit Fixed(const Options& options) : TopK(k, options.word("output")) {}
};

class Chosen : public TopK {
 public:
  explicit Chosen(const Options& options) : TopK(checked(whole_option(options, "k")), options.word("output")) {}

 private:
  static std::int64_t checked(std::int64_t k) {
    QUENCH_CHECK(k >= 1, "option 'k' must be at least 1, not ", k);
    return k;
  }
};

}  // namespace

TopK::TopK(std::int64_t k, std::string output, bool labelled)
    : k_(k), output_(std::move(output)), labelled_(labelled) {}

ItemStatistic TopK::measure(const MetricItem& item) const {
  const at::Tensor& output = item.outputs.at(output_).tensor();
  QUENCH_CHECK(output.dim() >= 1, "the model's output has one number for each item; logits of [batch, classes] were ",
               "expected");
  QUENCH_CHECK(output.numel() == *std::max_element(output.sizes().begin(), output.sizes().end()),
               "the model's output has the shape ", output.sizes(), " for each item; one score per class was expected");
  const at::Tensor logits = output.to(at::kFloat).reshape({1, -1});
  const std::int64_t classes = logits.size(1);
  QUENCH_CHECK(classes >= 2, "the model's output has ", classes, " class; at least 2 were expected");
  const std::vector<RankedClass> top = top_classes(logits, std::max<std::int64_t>(k_, 2))[0];
  QUENCH_CHECK(!labelled_ || (item.label >= 0 && item.label < classes), "item '", item.name, "' has label ", item.label,
               ", but the model has ", classes, " classes");
  QUENCH_CHECK(!std::isnan(top[0].logit), "the model gives NaN for item '", item.name, "'");
  ItemStatistic statistic(kPlaces);
  const std::size_t counted = std::min(top.size(), static_cast<std::size_t>(k_));
  for (std::size_t i = 0; i < counted; ++i) statistic[kRight] += top[i].index == item.label ? 1 : 0;
  statistic[kOne] = 1;
  statistic[kLabel] = static_cast<double>(item.label);
  statistic[kFirst] = static_cast<double>(top[0].index);
  statistic[kSecond] = static_cast<double>(top[1].index);
  statistic[kFirstLogit] = top[0].logit;
  statistic[kSecondLogit] = top[1].logit;
  return statistic;
}

std::optional<std::int64_t> TopK::right(const std::vector<ItemStatistic>& items) const {
  return std::count_if(items.begin(), items.end(), [](const ItemStatistic& one) { return one[kRight] > 0; });
}

Prediction prediction_of(std::int64_t index, const std::string& name, const ItemStatistic& statistic) {
  QUENCH_CHECK(statistic.size() == kPlaces, "item '", name, "' has ", statistic.size(), " numbers for its prediction, ",
               "not ", int{kPlaces});
  const auto whole = [&](Place place) { return static_cast<std::int64_t>(statistic[place]); };
  return {index, name, whole(kLabel), whole(kFirst), whole(kSecond), statistic[kFirstLogit], statistic[kSecondLogit]};
}

ItemStatistic statistic_of(const Prediction& prediction) {
  ItemStatistic statistic(kPlaces);
  statistic[kRight] = prediction.first == prediction.label ? 1 : 0;
  statistic[kOne] = 1;
  statistic[kLabel] = static_cast<double>(prediction.label);
  statistic[kFirst] = static_cast<double>(prediction.first);
  statistic[kSecond] = static_cast<double>(prediction.second);
  statistic[kFirstLogit] = prediction.first_logit;
  statistic[kSecondLogit] = prediction.second_logit;
  return statistic;
}

QUENCH_REGISTER_METRIC("top1", Fixed<1>, "share of items whose label is the class with the largest score", "%",
                       MetricBetter::kHigher,
                       {"output", std::string(), "the output with the scores; default: the first"})
QUENCH_REGISTER_METRIC("top5", Fixed<5>, "share of items whose label is among the 5 classes with the largest scores",
                       "%", MetricBetter::kHigher,
                       {"output", std::string(), "the output with the scores; default: the first"})
QUENCH_REGISTER_METRIC("topk", Chosen, "share of items whose label is among the k classes with the largest scores", "%",
                       MetricBetter::kHigher, {"k", 1.0, "how many classes count"},
                       {"output", std::string(), "the output with the scores; default: the first"})

}  // namespace quench

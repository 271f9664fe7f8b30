// A metric: how good the outputs of a model are on the items of a data set. Each is one file that registers itself; a
// plug-in may add more, and `quench eval --metric NAME:option=value,...` and configs then know it.
//
//   class MaxError : public RatioMetric {                   // a mean of what items have
//    public:
//     explicit MaxError(const Options& options) : output_(options.word("output")) {}
//     std::vector<std::string> outputs() const override { return {output_}; }
//     MetricNeed need() const override { return MetricNeed::kTargets; }
//     ItemStatistic measure(const MetricItem& item) const override { return {largest error of the item, 1}; }
//   };
//   QUENCH_REGISTER_METRIC("max_error", MaxError, "mean of the largest error of each item", "", MetricBetter::kLower,
//                          {"output", std::string(), "the output; default: the first"})
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quench/data.h"
#include "quench/options.h"
#include "quench/registry.h"

namespace quench {

struct Interval {
  double low = 0.0, high = 0.0;
};

// One item as metrics see it: on the CPU, and without a batch dimension anywhere.
struct MetricItem {
  std::string name;
  NamedValues outputs;       // of the model: those that the metric asked for, by the names that it asked with
  NamedValues reference;     // the same of the float network, for a metric that needs it
  NamedValues inputs;        // as the data gives them
  std::int64_t label = -1;   // -1: none
  std::int64_t length = -1;  // kNextToken: how many tokens are real
  std::string token_input;   // kNextToken: which of the inputs the tokens are
  NamedValues targets;
  Placement placement;
};

// What one item adds. Plain numbers, so that several processes can gather them, files keep them, and items be drawn
// again for an interval. Their number may differ from item to item.
using ItemStatistic = std::vector<double>;

enum class MetricNeed : std::uint8_t { kLabels, kTokens, kTargets, kFloat };
enum class MetricBetter : std::uint8_t { kHigher, kLower };

class Metric {
 public:
  virtual ~Metric() = default;

  virtual MetricNeed need() const = 0;
  // Names of the outputs that it reads; "" is the first one.
  virtual std::vector<std::string> outputs() const { return {""}; }
  // Throws for an item that does not fit, naming what was expected.
  virtual ItemStatistic measure(const MetricItem& item) const = 0;
  // The value of all items together, each taken `times[i]` times (all ones: the data as it is). The statistics outlive
  // the function that is returned; what costs time is done once, here.
  using ValueOf = std::function<double(const std::vector<int>& times)>;
  virtual ValueOf combine(const std::vector<ItemStatistic>& items) const = 0;
  // Where each item is either right or wrong (1 or 0 is then the first number of its statistic): how many are right.
  // The interval is then Wilson's, and two runs are compared by McNemar's test, without drawing.
  virtual std::optional<std::int64_t> right(const std::vector<ItemStatistic>&) const { return std::nullopt; }
  // More numbers for reports: the classes of an IoU, the thresholds of a mAP.
  virtual std::vector<std::pair<std::string, double>> details(const std::vector<ItemStatistic>&) const { return {}; }
};

// Statistics {a, b, ...}; the value is finish(sum of a / sum of b).
class RatioMetric : public Metric {
 public:
  ValueOf combine(const std::vector<ItemStatistic>& items) const override;

 protected:
  virtual double finish(double ratio) const { return ratio; }
};

struct MetricEntry {
  static constexpr const char* kKind = "metric";
  std::unique_ptr<Metric> (*make)(const Options& options) = nullptr;
  std::string unit;  // "%": the value is a share of 1; "" where it has none
  MetricBetter better = MetricBetter::kHigher;
  std::vector<OptionInfo> options;
};
using MetricRegistry = Registry<MetricEntry>;

template <typename Type>
std::unique_ptr<Metric> new_metric(const Options& options) {
  return std::make_unique<Type>(options);
}

// "map:boxes=dets,iou=0.5,0.75": a part without '=' belongs to the value before it.
struct MetricSpec {
  std::string name;
  Options options;  // all that the metric has
};
// Throws for an unknown metric or option, with the nearest and the list.
MetricSpec parse_metric(const std::string& text);
std::unique_ptr<Metric> make_metric(const MetricSpec& spec);

// For metrics: the one that this option names, or the only one. Throws, naming those that are there.
const at::Tensor& target_of(const MetricItem& item, const std::string& name);
// An option that counts or switches: throws for a fraction, and for a switch that is neither 0 nor 1.
std::int64_t whole_option(const Options& options, const std::string& name);
bool switch_option(const Options& options, const std::string& name);
// A target or an output that holds classes or tokens, as int64. Throws for fractions; `what` begins the message.
at::Tensor whole_numbers(const at::Tensor& tensor, const std::string& what);
// "0.5,0.75"; `owner` is for the message.
std::vector<double> numbers_of(const std::string& text, const std::string& owner);

// The 95 % interval of a value, by the percentiles of `resamples` draws of the items (Efron's bootstrap). The draws
// depend on `seed` and the number of items alone.
Interval bootstrap_interval(const Metric::ValueOf& value, std::size_t items, int resamples, std::uint64_t seed = 0);

// The value of one run less that of another over the same items, in draws that both share.
struct PairedDifference {
  double difference = 0.0;
  Interval interval;     // 95 %
  double p_value = 1.0;  // two-sided: how often the draws have the other sign
};
PairedDifference bootstrap_difference(const Metric::ValueOf& first, const Metric::ValueOf& second, std::size_t items,
                                      int resamples, std::uint64_t seed = 0);

}  // namespace quench

// QUENCH_REGISTER_METRIC("mse", MeanSquaredError, "summary", "", MetricBetter::kLower, {"output", std::string(),
// "..."})
#define QUENCH_REGISTER_METRIC(name, type, summary, unit, better, ...) \
  QUENCH_REGISTER_ITEM(::quench::MetricEntry, name, summary, {::quench::new_metric<type>, unit, better, {__VA_ARGS__}})

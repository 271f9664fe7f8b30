// Metrics by name, their options, and what they share.
#include "quench/metric.h"

#include <ATen/ATen.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "core/joined.h"
#include "core/split.h"
#include "quench/error.h"

namespace quench {
namespace {

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A number where the metric declares one. What it does not know stays a word, and is refused with the others.
OptionValue value_for(const MetricEntry& entry, const std::string& owner, const std::string& key,
                      const std::string& text) {
  for (const OptionInfo& info : entry.options) {
    if (info.name != key || !std::holds_alternative<double>(info.fallback)) continue;
    const std::optional<double> number = number_in(text);
    QUENCH_CHECK(number, "option '", key, "' of ", owner, " must be a number, not '", text, "'");
    return *number;
  }
  return text;
}

// "boxes=dets,iou=0.5,0.75": a part without '=' goes on with the value before it.
std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text, const std::string& owner) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const bool goes_on = equals == std::string::npos && !pairs.empty();
    QUENCH_CHECK(goes_on || (equals != std::string::npos && equals > 0), "option '", part, "' of ", owner,
                 " is not of the form key=value");
    if (goes_on)
      pairs.back().second += "," + part;
    else
      pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return pairs;
}

}  // namespace

MetricSpec parse_metric(const std::string& text) {
  const std::size_t colon = text.find(':');
  MetricSpec spec{text.substr(0, colon), {}};
  const MetricEntry& entry = MetricRegistry::instance().get(spec.name);
  const std::string owner = concat("metric '", spec.name, "'");
  if (colon != std::string::npos)
    for (const auto& [key, value] : pairs_of(text.substr(colon + 1), owner)) {
      QUENCH_CHECK(!spec.options.has(key), "option '", key, "' of ", owner, " is given twice");
      spec.options.set(key, value_for(entry, owner, key, value));
    }
  spec.options = spec.options.checked(entry.options, owner);
  return spec;
}

std::unique_ptr<Metric> make_metric(const MetricSpec& spec) {
  const MetricEntry& entry = MetricRegistry::instance().get(spec.name);
  return with_context([&] { return concat("in the metric '", spec.name, "'"); },
                      [&] { return entry.make(spec.options); });
}

Metric::ValueOf RatioMetric::combine(const std::vector<ItemStatistic>& items) const {
  return [this, &items](const std::vector<int>& times) {
    double above = 0.0, below = 0.0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      above += times[i] * items[i][0];
      below += times[i] * items[i][1];
    }
    return below == 0 ? std::numeric_limits<double>::quiet_NaN() : finish(above / below);
  };
}

const at::Tensor& target_of(const MetricItem& item, const std::string& name) {
  const std::string names = joined(item.targets, ", ", [](const auto& target) { return in_quotes(target.first); });
  QUENCH_CHECK(!item.targets.empty(), "item '", item.name, "' has no targets");
  QUENCH_CHECK(!name.empty() || item.targets.size() == 1, "item '", item.name, "' has several targets (", names,
               "): choose one with target=NAME");
  const auto found = name.empty() ? item.targets.begin() : item.targets.find(name);
  QUENCH_CHECK(found != item.targets.end(), "item '", item.name, "' has no target '", name, "'; it has ", names);
  return found->second.tensor();
}

std::int64_t whole_option(const Options& options, const std::string& name) {
  const double number = options.number(name);
  QUENCH_CHECK(number == std::floor(number) && std::abs(number) <= 1e9, "option '", name,
               "' must be a whole number, not ", number);
  return static_cast<std::int64_t>(number);
}

bool switch_option(const Options& options, const std::string& name) {
  const double number = options.number(name);
  QUENCH_CHECK(number == 0 || number == 1, "option '", name, "' must be 0 or 1, not ", number);
  return number == 1;
}

at::Tensor whole_numbers(const at::Tensor& tensor, const std::string& what) {
  if (!tensor.is_floating_point()) return tensor.to(at::kLong);
  const at::Tensor fractions = tensor.masked_select(tensor != tensor.floor());  // NaN too
  QUENCH_CHECK(fractions.numel() == 0, what, " must be whole numbers, but one is ",
               fractions.reshape(-1)[0].item<double>());
  return tensor.to(at::kLong);
}

std::vector<double> numbers_of(const std::string& text, const std::string& owner) {
  std::vector<double> numbers;
  for (const std::string& part : split(text, ',')) {
    const std::optional<double> number = number_in(part);
    QUENCH_CHECK(number, owner, " must be a list of numbers such as 0.5,0.75, not '", text, "'");
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace quench

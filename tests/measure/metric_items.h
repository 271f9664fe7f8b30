// Items for metrics, made by hand.
#pragma once

#include <ATen/ATen.h>

#include "quench/metric.h"

namespace quench {

inline MetricItem item_with_output(const at::Tensor& output, std::int64_t label = -1) {
  MetricItem item;
  item.name = "item";
  item.outputs[""] = output;
  item.label = label;
  return item;
}

inline MetricItem item_with_target(const at::Tensor& output, const at::Tensor& target) {
  MetricItem item = item_with_output(output);
  item.targets["target"] = target;
  return item;
}

inline MetricItem item_with_reference(const at::Tensor& output, const at::Tensor& reference) {
  MetricItem item = item_with_output(output);
  item.reference[""] = reference;
  return item;
}

inline std::unique_ptr<Metric> metric_of(const std::string& text) { return make_metric(parse_metric(text)); }

// The value of these items, each once.
inline double value_of(const Metric& metric, const std::vector<MetricItem>& items) {
  std::vector<ItemStatistic> statistics;
  for (const MetricItem& item : items) statistics.push_back(metric.measure(item));
  return metric.combine(statistics)(std::vector<int>(items.size(), 1));
}
inline double value_of(const std::string& text, const std::vector<MetricItem>& items) {
  return value_of(*metric_of(text), items);
}

}  // namespace quench

#include "report/eval_text.h"

#include <array>
#include <cstdio>

#include "quench/error.h"

namespace quench {

namespace {

// Six digits at most, without the zeros that %f pads small numbers with.
std::string number_text(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

Json json_of(const MetricResult& metric) {
  Json object = {{"name", metric.name},
                 {"value", metric.value},
                 {"unit", metric.unit},
                 {"better", metric.better == MetricBetter::kHigher ? "higher" : "lower"}};
  if (metric.interval) object["low"] = metric.interval->low;
  if (metric.interval) object["high"] = metric.interval->high;
  if (metric.right) object["right"] = *metric.right;
  for (const auto& [name, value] : metric.details) object["details"][name] = value;
  return object;
}

// What was measured, in the keys that the task has where no metrics were asked for.
Json measured_json(const EvalResult& result) {
  if (result.chosen) return {{"items", result.items}};
  if (result.task == Task::kNextToken)
    return {{"items", result.items}, {"tokens", result.tokens()}, {"perplexity", result.perplexity()}};
  if (result.task == Task::kNone) return {{"items", result.items}, {"labelled", false}};
  const MetricResult &top1 = result.metric("top1"), &top5 = result.metric("top5");
  return {{"items", result.items},
          {"correct", *top1.right},
          {"correct5", *top5.right},
          {"top1", top1.value},
          {"top5", top5.value},
          {"top1_low", top1.interval->low},
          {"top1_high", top1.interval->high}};
}

}  // namespace

Json json_of(const EvalResult& result) {
  Json object = measured_json(result);
  object["seconds"] = result.seconds;
  object["model_seconds"] = result.model_seconds;
  object["items_per_second"] = static_cast<double>(result.items) / result.seconds;
  object["batch"] = result.batch;
  object["skipped"] = result.skipped;
  if (!result.metrics.empty()) object["metrics"] = Json::array();
  for (const MetricResult& metric : result.metrics) object["metrics"].push_back(json_of(metric));
  return object;
}

std::string value_text(double value, const std::string& unit) {
  return unit == "%" ? decimals(100 * value, 2) + " %" : number_text(value) + (unit.empty() ? "" : " " + unit);
}

std::string metric_text(const MetricResult& metric) {
  const auto items = static_cast<std::int64_t>(metric.items.size());
  if (metric.right) return accuracy_text(*metric.right, items);
  std::string text = value_text(metric.value, metric.unit) + "  (";
  if (metric.interval) {
    const bool share = metric.unit == "%";
    const auto end = [&](double value) { return share ? decimals(100 * value, 2) : number_text(value); };
    text += concat("95 % interval ", end(metric.interval->low), " to ", end(metric.interval->high), "; ");
  }
  return text + concat(items, items == 1 ? " item)" : " items)");
}

Json json_of(const PairedDifference& paired) {
  return {{"difference", paired.difference},
          {"difference_low", paired.interval.low},
          {"difference_high", paired.interval.high},
          {"p_value", paired.p_value}};
}

std::string difference_text(const PairedDifference& paired, const std::string& unit) {
  const auto number = [&](double value) {
    return concat(value > 0 ? "+" : "", unit == "%" ? decimals(100 * value, 2) : number_text(value));
  };
  return concat(number(paired.difference),
                unit == "%"    ? " points"
                : unit.empty() ? ""
                               : " " + unit,
                " (95 % interval ", number(paired.interval.low), " to ", number(paired.interval.high),
                "; p = ", decimals(paired.p_value, 4), ")");
}

Json json_of(const PairedTest& test) {
  const Interval interval = difference_interval(test);
  return {{"items", test.items},
          {"only_this_right", test.only_first},
          {"only_that_right", test.only_second},
          {"prediction_changed", test.changed},
          {"p_value", test.p_value},
          {"difference_low", interval.low},
          {"difference_high", interval.high}};
}

Json agreement_json(const PairedTest& test) {
  const std::int64_t equal = test.items - test.changed;
  const Interval interval = wilson_interval(equal, test.items);
  return {{"items", test.items},
          {"equal", equal},
          {"share", static_cast<double>(equal) / static_cast<double>(test.items)},
          {"share_low", interval.low},
          {"share_high", interval.high}};
}

std::string agreement_text(const PairedTest& test) {
  return concat("the same top-1 as in float ", accuracy_text(test.items - test.changed, test.items));
}

std::string accuracy_text(std::int64_t correct, std::int64_t items) {
  const Interval interval = wilson_interval(correct, items);
  const auto percent = [](double fraction) { return decimals(100 * fraction, 2); };
  return concat(percent(static_cast<double>(correct) / static_cast<double>(items)), " %  (", correct, " of ", items,
                "; 95 % interval ", percent(interval.low), " to ", percent(interval.high), ")");
}

std::string paired_text(const PairedTest& test) {
  return concat("right in this run alone ", test.only_first, ", in that run alone ", test.only_second,
                ", other class predicted ", test.changed, " (McNemar's exact test: p = ", decimals(test.p_value, 4),
                ")");
}

}  // namespace quench

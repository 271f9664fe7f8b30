// The text report of a quantization job: what a person wants to know before shipping the model.
#include <algorithm>
#include <map>

#include "core/counted.h"
#include "quench/error.h"
#include "report/eval_text.h"
#include "report/plan_json.h"
#include "report/profile_text.h"
#include "report/quantize_record.h"
#include "report/reconstruct_text.h"
#include "report/table.h"
#include "report/train_text.h"

namespace quench {
namespace {

constexpr std::size_t kLayersShown = 20, kSkippedShown = 5;

template <typename Item>
std::int64_t count_of(const std::vector<Item>& items) {
  return static_cast<std::int64_t>(items.size());
}

std::string heading(const std::string& title) {
  return concat("\n", title, "\n", std::string(title.size(), '-'), "\n");
}

// The difference of two accuracies on the same items, with the 95 % interval of a paired difference.
std::string drop_text(const EvalResult& before, const EvalResult& after) {
  const PairedTest test = compare_predictions(after.predictions, before.predictions);
  const Interval gain = difference_interval(test);
  const double drop = before.top1() - after.top1();
  const std::string line = drop < 0
                               ? concat("gain        ", decimals(-100 * drop, 2), " points (95 % interval ",
                                        decimals(100 * gain.low, 2), " to ", decimals(100 * gain.high, 2), ")\n")
                               : concat("drop        ", decimals(100 * drop, 2), " points (95 % interval ",
                                        decimals(-100 * gain.high, 2), " to ", decimals(-100 * gain.low, 2), ")\n");
  return concat(line, "paired      right only when quantized ", test.only_first, ", only in float ", test.only_second,
                ", another class predicted ", test.changed, " (McNemar's exact test: p = ", decimals(test.p_value, 4),
                ")\n");
}

std::string result_text(const EvalResult& result) {
  if (result.task == Task::kNextToken)
    return concat("perplexity ", decimals(result.perplexity(), 4), "  (", result.tokens(), " tokens of ", result.items,
                  " texts)");
  return "top-1 " + metric_text(result.metric("top1"));
}

// By each metric that was asked for: every form of the network, and how the quantized one differs from float.
std::string chosen_part(const QuantizeRecord& record) {
  const EvalResult &before = *record.float_eval, &after = *record.quantized_eval;
  std::string text;
  for (const MetricResult& metric : before.metrics) {
    const std::string& name = metric.name;
    text += concat("float       ", name, " ", metric_text(metric), "\n", "quantized   ", name, " ",
                   metric_text(after.metric(name)), "\n");
    if (record.integer_eval)
      text += concat("integer     ", name, " ", metric_text(record.integer_eval->metric(name)), "\n");
    for (const MetricChange& change : record.changes)
      if (change.metric == name) text += concat("change      ", difference_text(change.difference, metric.unit), "\n");
  }
  return text;
}

std::string accuracy_part(const QuantizeRecord& record) {
  if (!record.float_eval || !record.quantized_eval)
    return record.trained && record.trained->start
               ? "not compared with float: validation is above, but no data to evaluate on was given\n"
               : "not measured: no data to evaluate on was given\n";
  const EvalResult &before = *record.float_eval, &after = *record.quantized_eval;
  std::string text;
  if (before.chosen) {
    text = chosen_part(record);
  } else if (before.task == Task::kNone) {
    text = concat("agreement   ", agreement_text(compare_predictions(after.predictions, before.predictions)),
                  "\n            (the data has no labels)\n");
  } else {
    text = concat("float       ", result_text(before), "\nquantized   ", result_text(after), "\n");
    if (record.integer_eval) text += concat("integer     ", result_text(*record.integer_eval), "\n");
    if (!before.predictions.empty()) text += drop_text(before, after);
  }
  return text + concat("simulation  takes ", decimals(after.model_seconds / before.model_seconds, 2),
                       " times as long as float\n");
}

std::string size_part(const WeightSize& size) {
  return concat("float       ", size_text(size.float_bytes), "\nquantized   ", size_text(size.quantized_bytes), "  (",
                decimals(static_cast<double>(size.float_bytes) / static_cast<double>(size.quantized_bytes), 2),
                " times smaller; ", grouped(size.quantized_elements), " of ", grouped(size.elements),
                " numbers are quantized)\n");
}

// By reason: one reason often holds for many tensors. Of those inside fused layers only the number.
std::string float_part(const QuantPlan& plan) {
  std::map<std::string, std::vector<std::string>> by_reason;
  std::size_t inside = 0;
  for (const PlanSkip& skip : plan.skipped)
    if (skip.is_inside())
      ++inside;
    else
      by_reason[skip.reason].push_back(skip.value);
  std::string text = by_reason.empty() ? "nothing\n" : "";
  for (const auto& [reason, values] : by_reason) {
    text += reason + "\n";
    for (const std::string& value : values) text += "  " + value + "\n";
  }
  if (inside > 0) text += concat("and ", inside, " tensors inside fused layers, which the plan names\n");
  return text;
}

std::string equalized_part(const EqualizeRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const EqualizedPair& pair : record.pairs)
    rows.push_back({pair.first, pair.second, decimals(pair.spread_before, 1), decimals(pair.spread_after, 1),
                    pair.clip.empty() ? "" : concat(pair.held, " of ", pair.factors.size())});
  std::string text;
  if (!rows.empty())
    text = table_text({{"first"}, {"second"}, {"spread", 12, true}, {"after", 12, true}, {"held by ReLU6", 16, true}},
                      rows) +
           "spread: greatest over least range of a channel; held: channels that the ReLU6 cuts, which stay\n";
  if (!record.skipped.empty()) text += "not the first of a pair:\n";
  for (const std::string& line : record.skipped) text += "  " + line + "\n";
  return text;
}

std::string stages_part(const std::vector<StageRecord>& stages) {
  std::vector<std::vector<std::string>> rows;
  double seconds = 0.0;
  std::int64_t peak = 0;
  const auto memory = [](std::int64_t bytes) { return bytes > 0 ? size_text(bytes) : "?"; };
  for (const StageRecord& stage : stages) {
    rows.push_back({stage.name, decimals(stage.seconds, 2), memory(stage.peak_bytes)});
    seconds += stage.seconds;
    peak = std::max(peak, stage.peak_bytes);
  }
  rows.push_back({"all", decimals(seconds, 2), memory(peak)});
  return table_text({{"stage"}, {"seconds", 12, true}, {"peak memory", 12, true}}, rows);
}

std::string smoothed_text(const SmoothRecord& record) {
  std::int64_t treated = 0, products = 0, outliers = 0;
  for (const SmoothedTensor& one : record.tensors) {
    treated += one.changed() ? 1 : 0;
    products += one.product ? 1 : 0;
    outliers += one.outliers;
  }
  if (treated == 0) return "";
  return concat("smoothed    ", treated, " tensors in front of linear layers; ", products,
                " by a product of their own, ", outliers, " outlier channels in float\n");
}

// Broken items that were left out: the first ones by name.
std::string skipped_text(const QuantizeRecord& record) {
  std::vector<std::string> all = record.calibration ? record.calibration->skipped : std::vector<std::string>();
  if (record.float_eval)
    for (const std::string& message : record.float_eval->skipped)
      if (std::find(all.begin(), all.end(), message) == all.end()) all.push_back(message);
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kSkippedShown); ++i) text += concat("skipped     ", all[i], "\n");
  if (all.size() > kSkippedShown)
    text += concat("skipped     ", all.size() - kSkippedShown, " more, which record.json names\n");
  return text;
}

}  // namespace

std::string summary_text(const QuantizeRecord& record) {
  std::string text = concat("model       ", record.model, "\n");
  if (record.plan) text += plan_summary(*record.plan);
  if (record.calibration)
    text += concat("calibrated  on ", counted(record.calibration->items, record.item), " in ",
                   decimals(record.calibration->seconds, 2), " s\n");
  if (record.equalized)
    text +=
        concat("equalized   ", counted(count_of(record.equalized->pairs), "pair"), " of layers; ",
               counted(count_of(record.equalized->skipped), "layer is", "layers are"), " not the first of a pair\n");
  if (record.smoothed) text += smoothed_text(*record.smoothed);
  if (record.corrected)
    text += concat("corrected   the biases of ", counted(count_of(record.corrected->layers), "layer"), " on ",
                   counted(record.corrected->items, record.item), "\n");
  if (record.reconstructed) text += reconstruction_summary(*record.reconstructed, record.item);
  if (record.trained) text += training_summary(*record.trained);
  if (record.agreement) text += concat("agreement   ", agreement_text(*record.agreement, record.item), "\n");
  text += skipped_text(record);
  for (const std::string& note : record.notes) text += concat("note        ", note, "\n");
  return text + heading("Accuracy") + accuracy_part(record);
}

std::string report_text(const QuantizeRecord& record) {
  std::string text;
  for (const std::string& warning : record.warnings) text += concat("WARNING     ", warning, "\n");
  text += summary_text(record);
  if (record.profile)
    text += heading("Damage by layer") + profile_table(*record.profile, kLayersShown) +
            concat("on ", counted(record.profile->items, record.item),
                   "; SQNR in dB; alone: only this layer is quantized; so far: ",
                   "all up to it; loses most: by its weight, its input or its output\n");
  if (record.equalized) text += heading("Equalized pairs of layers") + equalized_part(*record.equalized);
  if (record.reconstructed) text += heading("Reconstructed units") + units_table(*record.reconstructed);
  if (record.trained) text += heading("Training") + epochs_table(*record.trained);
  if (record.size) text += heading("Weights") + size_part(*record.size);
  if (record.calibration && !record.calibration->raised.empty()) {
    text += heading("Weight scales raised so that the int32 bias fits");
    for (const std::string& line : record.calibration->raised) text += line + "\n";
  }
  if (record.plan) text += heading("What stays float, and why") + float_part(*record.plan);
  return text + heading("Time and memory") + stages_part(record.stages);
}

}  // namespace quench

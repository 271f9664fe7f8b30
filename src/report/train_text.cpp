#include "report/train_text.h"

#include "core/counted.h"
#include "core/decimals.h"
#include "quench/error.h"
#include "quench/metric.h"
#include "report/eval_text.h"
#include "report/table.h"

namespace quench {
namespace {

// More is better: a perplexity, or another value of which less is better, comes as a negative number. Where no metric
// was named it is a share of right answers or a perplexity.
std::string score_text(double score, const std::string& metric) {
  if (metric.empty())
    return score < 0 ? concat("perplexity ", decimals(-score, 3)) : concat(decimals(100 * score, 2), " %");
  const MetricEntry& entry = MetricRegistry::instance().get(parse_metric(metric).name);
  const double value = entry.better == MetricBetter::kHigher ? score : -score;
  return concat(metric, " ", value_text(value, entry.unit));
}

std::string score_text(const std::optional<double>& score, const std::string& metric) {
  return score ? score_text(*score, metric) : "-";
}

}  // namespace

std::string epoch_line(const TrainEpoch& epoch, int epochs, const std::string& metric) {
  std::string line = concat("epoch ", epoch.epoch, " of ", epochs, ": loss ", decimals(epoch.loss, 4));
  if (epoch.quantized) line += concat(", validation ", score_text(*epoch.quantized, metric));
  if (epoch.in_float) line += concat(" (in float ", score_text(*epoch.in_float, metric), ")");
  return line + concat(", ", decimals(epoch.seconds, 1), " s");
}

std::string start_line(double score, const std::string& metric) {
  return concat("before training: validation ", score_text(score, metric));
}

std::string epochs_table(const TrainRecord& record) {
  std::vector<std::vector<std::string>> rows;
  if (record.start)
    rows.push_back(
        {record.best_epoch == 0 ? "start *" : "start", "-", score_text(record.start, record.metric), "-", "-", "-"});
  for (const TrainEpoch& one : record.epochs)
    rows.push_back({concat(one.epoch, one.epoch == record.best_epoch ? " *" : ""), decimals(one.loss, 4),
                    score_text(one.quantized, record.metric), score_text(one.in_float, record.metric),
                    decimals(one.rate, 6), decimals(one.seconds, 1)});
  return table_text({{"epoch", 8},
                     {"loss", 10, true},
                     {"quantized", 24, true},
                     {"float", 24, true},
                     {"rate", 12, true},
                     {"seconds", 10, true}},
                    rows) +
         "* the model's weights are those of this row\n";
}

namespace {

std::string kept_text(const TrainRecord& record) {
  if (record.best_epoch > 0) return concat("epoch ", record.best_epoch);
  return record.start ? "what training started from" : "the last step";
}

}  // namespace

std::string training_summary(const TrainRecord& record) {
  std::string text = concat("trained     ", counted(record.steps, "step"), ", ",
                            counted(static_cast<std::int64_t>(record.epochs.size()), "epoch"), ", in ",
                            decimals(record.seconds, 1), " s; kept ", kept_text(record));
  if (record.best_epoch == 0 && record.start)
    text += concat(" (validation ", score_text(*record.start, record.metric), "): no epoch was better");
  for (const TrainEpoch& one : record.epochs)
    if (one.epoch == record.best_epoch && one.quantized)
      text += concat(" (validation ", score_text(*one.quantized, record.metric), ")");
  if (record.resumed_from > 0) text += concat("; resumed at step ", record.resumed_from);
  return text + "\n";
}

Json json_of(const TrainRecord& record) {
  Json epochs = Json::array();
  for (const TrainEpoch& one : record.epochs) {
    Json epoch = {{"epoch", one.epoch}, {"loss", one.loss}, {"learning_rate", one.rate}, {"seconds", one.seconds}};
    if (one.quantized) epoch["validation"] = *one.quantized;
    if (one.in_float) epoch["validation_float"] = *one.in_float;
    epochs.push_back(std::move(epoch));
  }
  Json json = {{"steps", record.steps},           {"items", record.items},
               {"best_epoch", record.best_epoch}, {"resumed_from", record.resumed_from},
               {"seconds", record.seconds},       {"epochs", std::move(epochs)}};
  if (record.start) json["validation_at_start"] = *record.start;
  if (!record.metric.empty()) json["metric"] = record.metric;
  return json;
}

}  // namespace quench

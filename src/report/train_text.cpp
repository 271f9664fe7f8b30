#include "report/train_text.h"

#include "core/counted.h"
#include "core/decimals.h"
#include "quench/error.h"
#include "report/table.h"

namespace quench {
namespace {

// A share of right answers; a perplexity comes as a negative number.
std::string score_text(double score) {
  return score < 0 ? concat("perplexity ", decimals(-score, 3)) : concat(decimals(100 * score, 2), " %");
}

std::string score_text(const std::optional<double>& score) { return score ? score_text(*score) : "-"; }

}  // namespace

std::string epoch_line(const TrainEpoch& epoch, int epochs) {
  std::string line = concat("epoch ", epoch.epoch, " of ", epochs, ": loss ", decimals(epoch.loss, 4));
  if (epoch.quantized) line += concat(", validation ", score_text(*epoch.quantized));
  if (epoch.in_float) line += concat(" (in float ", score_text(*epoch.in_float), ")");
  return line + concat(", ", decimals(epoch.seconds, 1), " s");
}

std::string epochs_table(const TrainRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const TrainEpoch& one : record.epochs)
    rows.push_back({concat(one.epoch, one.epoch == record.best_epoch ? " *" : ""), decimals(one.loss, 4),
                    score_text(one.quantized), score_text(one.in_float), decimals(one.rate, 6),
                    decimals(one.seconds, 1)});
  return table_text({{"epoch", 8},
                     {"loss", 10, true},
                     {"quantized", 12, true},
                     {"float", 12, true},
                     {"rate", 12, true},
                     {"seconds", 10, true}},
                    rows) +
         "* the model's weights are those of this epoch\n";
}

std::string training_summary(const TrainRecord& record) {
  std::string text = concat("trained     ", counted(record.steps, "step"), ", ",
                            counted(static_cast<std::int64_t>(record.epochs.size()), "epoch"), ", in ",
                            decimals(record.seconds, 1), " s; kept epoch ", record.best_epoch);
  for (const TrainEpoch& one : record.epochs)
    if (one.epoch == record.best_epoch && one.quantized)
      text += concat(" (validation ", score_text(*one.quantized), ")");
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
  return {{"steps", record.steps},           {"items", record.items},
          {"best_epoch", record.best_epoch}, {"resumed_from", record.resumed_from},
          {"seconds", record.seconds},       {"epochs", std::move(epochs)}};
}

}  // namespace quench

#include "qat/training_notes.h"

#include <algorithm>
#include <sstream>

#include "core/counted.h"
#include "core/joined.h"
#include "data/batch_size.h"
#include "data/item_noun.h"
#include "quench/distributed.h"
#include "quench/pass.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

std::int64_t dropouts(const Graph& graph) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [](const auto& node) { return node->op() == "Dropout"; });
}

constexpr std::size_t kChannelsNamed = 8;

// "3 17 ..." -> "3, 17 and 40 more"
std::string first_channels(const std::string& all) {
  std::istringstream stream(all);
  std::vector<std::string> named;
  std::size_t count = 0;
  for (std::string one; stream >> one; ++count)
    if (count < kChannelsNamed) named.push_back(one);
  return joined(named) + (count > kChannelsNamed ? concat(" and ", count - kChannelsNamed, " more") : "");
}

// Collects names of options whose value is not the usual one.
class Changed {
 public:
  template <typename T>
  void add_if(bool idle, const char* name, const T& value, const T& usual) {
    if (idle && value != usual) names_.emplace_back(name);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

void add_idle(const OptimizerOptions& given, Changed& idle) {
  const OptimizerOptions usual;
  const bool is_sgd = given.name == "sgd";
  idle.add_if(!is_sgd && given.momentum > 0, "optimizer.momentum", given.momentum, usual.momentum);  // 0: torch's
  idle.add_if(is_sgd, "optimizer.beta1", given.beta1, usual.beta1);
  idle.add_if(is_sgd, "optimizer.beta2", given.beta2, usual.beta2);
  idle.add_if(is_sgd, "optimizer.epsilon", given.epsilon, usual.epsilon);
}

void add_idle(const ScheduleOptions& given, Changed& idle) {
  const ScheduleOptions usual;
  const bool steps = given.name == "step", at_milestones = given.name == "multi_step";
  idle.add_if(!steps, "schedule.step_epochs", given.step_epochs, usual.step_epochs);
  idle.add_if(!at_milestones, "schedule.milestones", given.milestones, usual.milestones);
  idle.add_if(!steps && !at_milestones, "schedule.gamma", given.gamma, usual.gamma);
  idle.add_if(given.name != "cosine", "schedule.end", given.end, usual.end);
  idle.add_if(given.warmup_epochs == 0 && given.warmup_steps == 0, "schedule.warmup_start", given.warmup_start,
              usual.warmup_start);
}

std::string without_effect(const Changed& idle, const char* why) {
  if (idle.names().empty()) return "";
  return concat(joined_in_quotes(idle.names()), idle.names().size() == 1 ? " has" : " have", " no effect ", why);
}

void add_idle_validation(const TrainOptions& given, Changed& idle) {
  const TrainOptions usual;
  idle.add_if(true, "val_begin", given.val_begin, usual.val_begin);
  idle.add_if(true, "val_interval", given.val_interval, usual.val_interval);
  idle.add_if(true, "dynamic_intervals", given.dynamic_intervals, usual.dynamic_intervals);
  idle.add_if(true, "val_float", given.val_float, usual.val_float);
}

// How much the mean of an epoch's losses changes by itself where little is left to learn.
constexpr double kNoise = 1.25;

std::string advice_after(const TrainRecord& record, const TrainOptions& options) {
  const double rate = options.optimizer.lr;
  if (!still_falls(record))
    return concat(". Try a learning rate below ", rate, " (TrainOptions::optimizer), or quantize without training");
  return concat("; the training loss still falls, from ", record.epochs.front().loss, " to ", record.epochs.back().loss,
                ". Train for longer, try another learning rate than ", rate,
                " (TrainOptions::optimizer), or quantize without training");
}

}  // namespace

std::string fixed_batch_note(const Graph& graph, const Dataset& data, std::int64_t batch) {
  const std::int64_t fixed = fixed_batch(graph, &data);
  if (fixed <= 0 || fixed == batch) return "";
  return concat("the model fixes its batch at ", fixed, ": a step takes ", counted(fixed, item_noun(data)), ", not ",
                batch, ", which calls for a ", fixed < batch ? "lower" : "higher",
                " learning rate; export it with an open batch dimension to change that");
}

std::string idle_options_note(const TrainOptions& options, bool validates) {
  const TrainOptions usual;
  Changed idle;
  add_idle(options.optimizer, idle);
  add_idle(options.schedule, idle);
  idle.add_if(options.distill.weight == 0, "distill.temperature", options.distill.temperature,
              usual.distill.temperature);
  idle.add_if(options.distill.weight == 1, "label_smoothing", options.label_smoothing, usual.label_smoothing);
  idle.add_if(!TrainLoopRegistry::instance().get(options.loop).observes, "disable_observer_begin",
              options.disable_observer_begin, usual.disable_observer_begin);
  idle.add_if(!options.processes || !options.processes->are_several(), "sync_bn", options.sync_bn, usual.sync_bn);
  Changed unvalidated;
  if (!validates) add_idle_validation(options, unvalidated);
  const std::string beside = without_effect(idle, "with the other options of training"),
                    alone = without_effect(unvalidated, "without validation data");
  return concat(beside, beside.empty() || alone.empty() ? "" : "; ", alone);
}

std::string warmup_note(const TrainOptions& options, std::int64_t steps_per_epoch) {
  const std::int64_t all = steps_per_epoch * options.epochs;
  const std::int64_t steps = options.max_steps > 0 ? std::min(all, options.max_steps) : all;
  const double warmup = std::max(static_cast<double>(options.schedule.warmup_steps),
                                 options.schedule.warmup_epochs * static_cast<double>(steps_per_epoch));
  if (warmup <= static_cast<double>(steps)) return "";
  return concat("the warm-up takes ", warmup, " steps, and training ", steps, ": the learning rate never reaches ",
                options.optimizer.lr);
}

bool still_falls(const TrainRecord& record) {
  const std::vector<TrainEpoch>& epochs = record.epochs;
  return epochs.size() > 1 && std::all_of(epochs.begin(), epochs.end() - 1,
                                          [&](const TrainEpoch& one) { return epochs.back().loss < one.loss; });
}

std::string worse_warning(const TrainRecord& record, const TrainOptions& options) {
  const std::string advice = advice_after(record, options);
  if (record.start && record.best_epoch == 0)
    return concat("training did not help: no epoch was better on the validation data than the calibrated model, which ",
                  "is what was kept", advice);
  if (record.epochs.empty()) return "";
  const TrainEpoch &first = record.epochs.front(), &last = record.epochs.back();
  if (record.start && record.best_epoch == last.epoch && last.quantized && *last.quantized < *record.start)
    return concat("training made the network worse on the validation data", advice);
  if (!last.quantized && last.loss > kNoise * first.loss)
    return concat("training made the network worse: the training loss rose from ", first.loss,
                  " in the first epoch to ", last.loss, " in the last one", advice);
  return "";
}

std::vector<std::string> guarded_notes(const Graph& trained) {
  Graph folded = trained;  // shares the tensors; folding replaces them
  run_passes(folded, {"fold_live_norms"});
  std::vector<std::string> notes;
  for (const auto& node : folded.nodes())
    if (const auto found = node->metadata.find("quench.guarded_channels"); found != node->metadata.end())
      notes.push_back(concat(node->where(), ": channels ", first_channels(found->second),
                             " have a BatchNorm factor near 0, by which training does not divide; they are "
                             "folded with it all the same (docs/numerics.md 8.5)"));
  return notes;
}

std::string dropout_note(const Graph& original, const Graph& trained) {
  const std::int64_t removed = dropouts(original) - dropouts(trained);
  if (removed <= 0) return "";
  return concat(counted(removed, "Dropout node"), " taken out of the network: it trains without dropout");
}

}  // namespace quench

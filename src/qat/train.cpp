#include "quench/train.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <limits>

#include "calibrate/fit_biases.h"
#include "core/hash.h"
#include "data/batch_size.h"
#include "distributed/check_same.h"
#include "qat/job_key.h"
#include "qat/loss.h"
#include "qat/train_checkpoint.h"
#include "qat/train_step.h"
#include "qat/training_log.h"
#include "qat/training_notes.h"
#include "qat/validate.h"
#include "quench/error.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Whatever is asked for: an interruption must not cost hours.
constexpr double kSecondsBetweenCheckpoints = 300;

// The averages of weights in their place while it lives.
class Averaged {
 public:
  explicit Averaged(WeightAverage& average) : average_(average) { average_.swap(); }
  ~Averaged() { average_.swap(); }
  Averaged(const Averaged&) = delete;
  Averaged& operator=(const Averaged&) = delete;

 private:
  WeightAverage& average_;
};

// What must be the same in several processes, or they would wait for each other in different places.
void check_same_options(const QuantizedModel& model, const TrainData& data, const TrainOptions& options) {
  check_same(options.processes, "training options", [&] {
    return concat(text_of_train_options(options), "val_float=", options.val_float, "\nresume=", options.resume,
                  "\nmax_steps=", options.max_steps, "\nvalidation data=", data.validation != nullptr,
                  "\nfolder=", !options.folder.empty(), "\nstop=", static_cast<bool>(options.stop), "\n",
                  text_of_model(model));
  });
}

TrainOptions with_loop_options(TrainOptions options) {
  options.loop_options = checked_loop_options(options.loop, options.loop_options);
  return options;
}

class Trainer : public Training {
 public:
  Trainer(QuantizedModel& model, const TrainData& data, const TrainOptions& options, const Graph* teacher)
      : model_(model),
        data_(data),
        options_(with_loop_options(options)),
        loop_(TrainLoopRegistry::instance().get(options.loop).make()),
        batch_(choose_batch(model.graph, &data.train, 0, options.batch)),
        per_epoch_(steps_per_epoch(model.graph, data.train, options)),
        graph_(model, options.device),
        optimizer_(graph_.parameters(), options.optimizer),
        average_(graph_.parameters(), options.ema),
        together_(options.processes, graph_, options.sync_bn),
        step_({graph_, optimizer_, average_, together_}, data_.train, options_, teacher) {
    together_.check_batch(data.train, batch_);
    QUENCH_CHECK(loop_->finds_scales() || model.stage >= ModelStage::kCalibrated,
                 "the model is not calibrated, and the loop '", options_.loop, "' finds no scales: calibrate it first");
  }

  TrainRecord run(std::uint64_t key) {
    state_.key = key;
    if (!options_.folder.empty() && is_first()) remove_half_written(options_.folder);
    if (options_.resume) resume();
    note(fixed_batch_note(model_.graph, data_.train, options_.batch));
    note(idle_options_note(options_, data_.validation != nullptr));
    note(warmup_note(options_, per_epoch_));
    log_ = std::make_unique<TrainingLog>(is_first() ? options_.folder : "", state_.step);
    record_.resumed_from = state_.step;
    stop_if_asked();
    if (state_.step == 0 && data_.validation && !loop_->finds_scales()) measure_start();
    stop_if_asked();  // it may have taken long
    for (; state_.epoch <= options_.epochs && !is_over(); ++state_.epoch) run_epoch();
    loop_->prepare_for_val(*this);
    if (options_.keep_best && (state_.best_epoch > 0 || state_.start))
      graph_.load(best_tensors());
    else
      average_.swap();  // the last epoch's
    return finished();
  }

  const TrainOptions& options() const override { return options_; }
  int epoch() const override { return state_.epoch; }
  void set_flags(QuantFlags flags) override { graph_.set_flags(flags); }
  void set_flags(QuantFlags following, QuantFlags others) override { graph_.set_flags(following, others); }
  void freeze_norms() override {
    graph_.freeze_norms();
    state_.norms_frozen = true;
  }
  bool norms_frozen() const override { return graph_.norms_frozen(); }
  bool flag(const std::string& name) const override {
    const auto found = state_.flags.find(name);
    return found != state_.flags.end() && found->second;
  }
  void set_flag(const std::string& name, bool value) override { state_.flags[name] = value; }

  bool run_batch() override {
    if (is_over()) return false;
    const std::optional<Batch> batch = loader_->next();
    const std::int64_t items = batch ? together_.part(batch->size()).of : 0;
    if (items == 0 || (items < batch_ && state_.items_in_epoch > 0)) return false;
    if (options_.freeze_bn_step > 0 && state_.step + 1 >= options_.freeze_bn_step) freeze_norms();
    last_rate_ = rate();
    step_.run(*batch, {state_.step, all_steps(), factor()});
    unread_items_.push_back(items);
    state_.items_in_epoch += items;
    state_.items += items;
    ++state_.step;
    const bool is_logged = state_.step == 1 || state_.step % options_.log_every == 0 || state_.step == all_steps();
    if (is_logged || step_.knows_losses()) read_losses();
    if (options_.progress && is_first()) options_.progress(state_.step, all_steps(), last_loss_);
    if (is_logged) log_->step(state_.step, state_.epoch, last_loss_, last_rate_);
    const bool is_due = options_.checkpoint_every > 0 && state_.step % options_.checkpoint_every == 0;
    if (is_due || seconds_since(last_saved_) > kSecondsBetweenCheckpoints) save();
    stop_if_asked();
    return true;
  }

 private:
  void note(std::string text) {
    if (!text.empty()) record_.notes.push_back(std::move(text));
  }
  bool is_first() const { return together_.is_first(); }
  bool is_over() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }
  std::int64_t all_steps() const {
    const std::int64_t all = per_epoch_ * options_.epochs;
    return options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
  }
  double factor() const { return schedule_factor(options_.schedule, state_.step, per_epoch_, options_.epochs); }
  double rate() const { return options_.optimizer.lr * factor(); }

  void run_epoch() {
    epoch_start_ = Clock::now();
    LoadOptions order{.batch_size = batch_, .shuffle = true};
    order.seed = stable_hash(concat(options_.seed, " epoch ", state_.epoch));
    order.offset = state_.items_in_epoch;
    order.workers = options_.workers;
    loader_ = std::make_unique<Loader>(data_.train, together_.share_of(order));
    loop_->prepare_for_run_epoch(*this);
    loop_->run_epoch(*this);
    loader_.reset();
    loop_->prepare_for_val(*this);
    finish_epoch();
  }

  // If training only makes it worse, what it started from is kept.
  void measure_start() {
    loop_->prepare_for_val(*this);
    state_.start = validation_score(model_.graph, *data_.validation, options_, true);
    if (options_.keep_best) keep();
    log_->start(*state_.start);
    if (options_.start_measured && is_first()) options_.start_measured(*state_.start);
  }

  // All processes stop after the same step, whichever of them was asked, and none leaves while the first one writes.
  void stop_if_asked() {
    if (!options_.stop || !together_.any(options_.stop())) return;
    save();
    together_.processes().agree_to_stop();
    throw Interrupted(concat("training was interrupted after step ", state_.step, " of ", all_steps()));
  }

  void finish_epoch() {
    read_losses();
    TrainEpoch one;
    one.epoch = state_.epoch;
    one.loss = state_.loss_in_epoch / static_cast<double>(std::max<std::int64_t>(state_.items_in_epoch, 1));
    one.rate = last_rate_;
    {
      const Averaged averaged(average_);
      if (validates()) measure(one);
      one.seconds = state_.seconds_in_epoch + seconds_since(epoch_start_);
      keep_if_best(one);
    }
    state_.epochs.push_back(one);
    state_.seconds += one.seconds;
    log_->epoch(one, state_.step);
    if (options_.epoch_done && is_first()) options_.epoch_done(one);
    if (ended_within()) return;  // the last checkpoint goes on there, should there be more steps another time
    state_.items_in_epoch = 0;
    state_.loss_in_epoch = state_.seconds_in_epoch = 0.0;
    ++state_.epoch;  // what a resumed run begins with
    save();
    stop_if_asked();
    --state_.epoch;
  }

  bool ended_within() const { return is_over() && state_.step < per_epoch_ * state_.epoch; }

  bool validates() const {
    if (!data_.validation) return false;
    int interval = options_.val_interval;
    for (const auto& [from, other] : options_.dynamic_intervals)
      if (state_.epoch >= from) interval = other;
    const bool is_last = state_.epoch == options_.epochs || is_over();
    return is_last || (state_.epoch >= options_.val_begin && state_.epoch % interval == 0);
  }

  void measure(TrainEpoch& one) {
    one.quantized = validation_score(model_.graph, *data_.validation, options_, true);
    if (options_.val_float) one.in_float = validation_score(model_.graph, *data_.validation, options_, false);
  }

  // Without validation, the last one is.
  void keep_if_best(const TrainEpoch& one) {
    if (data_.validation && !(one.quantized && std::isfinite(*one.quantized))) return;
    if (options_.keep_best && one.quantized && *one.quantized <= best_score()) return;
    state_.best_epoch = one.epoch;
    keep();
  }
  double best_score() const {
    double best = -std::numeric_limits<double>::infinity();  // NaN is never greater
    if (state_.start && *state_.start > best) best = *state_.start;
    for (const TrainEpoch& one : state_.epochs)
      if (one.quantized && *one.quantized > best) best = *one.quantized;
    return best;
  }

  void keep() {
    if (!options_.folder.empty() && is_first()) write_best(options_.folder, graph_.state());
    if (!options_.folder.empty()) return;
    best_.clear();
    for (const auto& [name, tensor] : graph_.state()) best_.emplace(name, tensor.detach().clone());
  }
  TensorMap best_tensors() const {
    return options_.folder.empty() ? best_ : read_best(options_.folder, together_.processes());
  }

  // On a GPU this waits for all steps so far.
  void read_losses() {
    for (const double loss : step_.losses()) {
      state_.loss_in_epoch += loss * static_cast<double>(unread_items_.front());
      unread_items_.pop_front();
      last_loss_ = loss;
    }
  }

  void save() {
    if (options_.folder.empty() || !is_first()) return;
    read_losses();
    TrainState state = state_;
    state.seconds_in_epoch = state.items_in_epoch > 0 ? state_.seconds_in_epoch + seconds_since(epoch_start_) : 0.0;
    state.tensors = {{"model", graph_.state()},
                     {"optimizer", optimizer_.state()},
                     {"observers", graph_.observers()},
                     {"average", average_.state()}};
    write_checkpoint(options_.folder, state);
    last_saved_ = Clock::now();
  }

  void resume() {
    std::optional<TrainState> found = read_checkpoint(options_.folder, state_.key, together_.processes());
    if (!found) return note("there was no checkpoint to resume from: trained from the start");
    if (found->norms_frozen) graph_.freeze_norms();
    graph_.load(found->tensors["model"]);
    optimizer_.load(found->tensors["optimizer"]);
    graph_.load_observers(found->tensors["observers"]);
    average_.load(found->tensors["average"]);
    found->tensors.clear();
    state_ = std::move(*found);
  }

  TrainRecord finished() {
    record_.start = state_.start;
    record_.metric = options_.metric;
    record_.epochs = state_.epochs;
    record_.best_epoch = state_.best_epoch;
    record_.steps = state_.step;
    record_.items = state_.items;
    record_.seconds = state_.seconds;
    note(step_.note());
    return std::move(record_);
  }

  QuantizedModel& model_;
  const TrainData data_;
  const TrainOptions options_;
  const std::unique_ptr<TrainLoop> loop_;
  const std::int64_t batch_, per_epoch_;
  TrainingGraph graph_;
  Optimizer optimizer_;
  WeightAverage average_;
  TrainTogether together_;
  TrainStep step_;
  std::deque<std::int64_t> unread_items_;  // of steps whose losses were not read yet
  std::unique_ptr<TrainingLog> log_;
  std::unique_ptr<Loader> loader_;
  TrainState state_;
  TensorMap best_;
  TrainRecord record_;
  double last_rate_ = 0.0, last_loss_ = 0.0;
  Clock::time_point epoch_start_ = Clock::now(), last_saved_ = Clock::now();
};

TrainRecord trained(QuantizedModel& model, const TrainData& data, const TrainOptions& options, const Graph* teacher) {
  if (options.stop) options.stop();  // from here on an interrupt is answered by a checkpoint
  check_train_options(options);
  check_trainable(model.graph, data.train, options);
  if (data.validation) check_validates(model.graph, *data.validation, options);
  check_same_options(model, data, options);
  const std::uint64_t key = job_key(model, data, options, teacher);
  return Trainer(model, data, options, teacher).run(key);
}

}  // namespace

void check_resumes(const QuantizedModel& model, const TrainData& data, const TrainOptions& options,
                   const Graph* teacher) {
  const Processes alone;
  read_checkpoint(options.folder, job_key(model, data, options, teacher),
                  options.processes ? *options.processes : alone);
}

TrainRecord train(QuantizedModel& model, const TrainData& data, const TrainOptions& options, const Graph* teacher) {
  verify(model, ModelStage::kPrepared);
  QUENCH_CHECK(model.stage != ModelStage::kConverted, "a converted model has no parameters to train");
  TrainRecord record = trained(model, data, options, teacher);
  model.stage = ModelStage::kTrained;
  for (const std::string& raised : fit_biases(model)) record.notes.push_back(raised);
  for (const std::string& guarded : guarded_notes(model.graph)) record.notes.push_back(guarded);
  verify(model, ModelStage::kTrained);
  return record;
}

TrainRecord train_float(Graph& network, const TrainData& data, const TrainOptions& options) {
  QUENCH_CHECK(quantizers_of(network).empty(), "the network has quantizers: use train()");
  QuantizedModel model(network, {}, ModelStage::kCalibrated);  // shares the tensors, and has nothing to calibrate
  TrainRecord record = trained(model, data, options, nullptr);
  network = std::move(model.graph);
  return record;
}

}  // namespace quench

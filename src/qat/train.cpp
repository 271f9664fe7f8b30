#include "quench/train.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "calibrate/fit_biases.h"
#include "core/hash.h"
#include "data/batch_size.h"
#include "measure/fast_run.h"
#include "qat/augment.h"
#include "qat/loss.h"
#include "qat/optimizer.h"
#include "qat/train_checkpoint.h"
#include "qat/train_fields.h"
#include "qat/training_log.h"
#include "qat/validate.h"
#include "qat/weight_average.h"
#include "quench/error.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Convolutions and products in bfloat16 while it lives.
class Autocast {
 public:
  Autocast(bool on, const std::string& device) : type_(at::Device(device).type()), on_(on) {
    if (!on_) return;
    at::autocast::set_autocast_dtype(type_, at::kBFloat16);
    at::autocast::set_autocast_enabled(type_, true);
  }
  ~Autocast() {
    if (!on_) return;
    at::autocast::set_autocast_enabled(type_, false);
    at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType type_;
  bool on_;
};

// Collects the options as text.
class Listed {
 public:
  template <typename T>
  void operator()(const char* key, const T& field) {
    text_ += concat(" ", key, "=", field);
  }
  void operator()(const char* key, double field) { text_ += fmt::format(" {}={}", key, field); }
  void operator()(const char* key, const std::optional<double>& field) { (*this)(key, field.value_or(-1)); }
  void operator()(const char* key, const std::vector<double>& field) {
    for (const double one : field) (*this)(key, one);
  }
  void operator()(const char* key, const std::vector<std::pair<int, int>>& field) {
    for (const auto& [from, interval] : field) text_ += concat(" ", key, "=", from, ":", interval);
  }
  void enter(const char* key) { text_ += concat(" ", key, "{"); }
  void leave() { text_ += "}"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Of all that decides the result.
std::uint64_t job_key(const QuantizedModel& model, const TrainData& data, const TrainOptions& options) {
  Listed listed;
  visit_train_options(options, listed);
  return stable_hash(concat(to_text(model.graph, {.data = false}), to_yaml(model.plan), listed.text(), " ",
                            options.seed, " ", options.device, " ", data.train.size(), " ",
                            data.validation ? data.validation->size() : 0));
}

class Trainer : public Training {
 public:
  Trainer(QuantizedModel& model, const TrainData& data, const TrainOptions& options, const Graph* teacher)
      : model_(model),
        data_(data),
        options_(options),
        loop_(TrainLoopRegistry::instance().get(options.loop).make()),
        batch_(choose_batch(model.graph, &data.train, 0, options.batch)),
        per_epoch_(std::max<std::int64_t>(data.train.size() / batch_, 1)),
        graph_(model, options.device),
        optimizer_(graph_.parameters(), options.optimizer),
        average_(graph_.parameters(), options.ema) {
    if (teacher && options_.distill.weight > 0) teacher_ = std::make_unique<FastRun>(*teacher, options_.device);
    QUENCH_CHECK(teacher_ || options_.distill.weight == 0, "distill.weight is ", options_.distill.weight,
                 ", but no float model was given to learn from");
    QUENCH_CHECK(loop_->finds_scales() || model.stage >= ModelStage::kCalibrated,
                 "the model is not calibrated, and the loop '", options_.loop, "' finds no scales: calibrate it first");
  }

  TrainRecord run(std::uint64_t key) {
    state_.key = key;
    if (options_.resume) resume();
    if (batch_ != options_.batch)
      record_.notes.push_back(concat("batch ", options_.batch, ": the model fixes its batch at ", batch_));
    log_ = std::make_unique<TrainingLog>(options_.folder, state_.step);
    record_.resumed_from = state_.step;
    for (; state_.epoch <= options_.epochs && !is_over(); ++state_.epoch) run_epoch();
    loop_->prepare_for_val(*this);
    if (options_.keep_best && state_.best_epoch > 0)
      graph_.load(best_tensors());
    else
      average_.swap();  // the last epoch's
    return finished();
  }

  const TrainOptions& options() const override { return options_; }
  int epoch() const override { return state_.epoch; }
  void set_flags(QuantFlags flags) override { graph_.set_flags(flags); }
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
    if (!batch || (batch->size() < batch_ && state_.items_in_epoch > 0)) return false;
    const double loss = step(*batch);
    state_.loss_in_epoch += loss * static_cast<double>(batch->size());
    state_.items_in_epoch += batch->size();
    state_.items += batch->size();
    ++state_.step;
    if (options_.progress) options_.progress(state_.step, per_epoch_ * options_.epochs, loss);
    if (state_.step % options_.log_every == 0) log_->step(state_.step, state_.epoch, loss, rate());
    if (options_.checkpoint_every > 0 && state_.step % options_.checkpoint_every == 0) save();
    return true;
  }

 private:
  bool is_over() const { return options_.max_steps > 0 && state_.step >= options_.max_steps; }
  double factor() const { return schedule_factor(options_.schedule, state_.step, per_epoch_, options_.epochs); }
  double rate() const { return options_.optimizer.lr * factor(); }

  void run_epoch() {
    epoch_start_ = Clock::now();
    LoadOptions order{.batch_size = batch_, .shuffle = true};
    order.seed = options_.seed + static_cast<std::uint64_t>(state_.epoch);
    order.offset = state_.items_in_epoch;
    order.workers = options_.workers;
    loader_ = std::make_unique<Loader>(data_.train, order);
    loop_->prepare_for_run_epoch(*this);
    loop_->run_epoch(*this);
    loader_.reset();
    loop_->prepare_for_val(*this);
    finish_epoch();
  }

  void finish_epoch() {
    TrainEpoch one;
    one.epoch = state_.epoch;
    one.loss = state_.loss_in_epoch / static_cast<double>(std::max<std::int64_t>(state_.items_in_epoch, 1));
    one.rate = rate();
    average_.swap();
    if (validates()) measure(one);
    one.seconds = state_.seconds_in_epoch + seconds_since(epoch_start_);
    keep_if_best(one);
    average_.swap();
    state_.epochs.push_back(one);
    state_.seconds += one.seconds;
    log_->epoch(one, state_.step);
    if (options_.epoch_done) options_.epoch_done(one);
    state_.items_in_epoch = 0;
    state_.loss_in_epoch = state_.seconds_in_epoch = 0.0;
    if (options_.folder.empty()) return;
    ++state_.epoch;  // what a resumed run begins with
    save();
    --state_.epoch;
  }

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
    if (data_.validation && !one.quantized) return;
    for (const TrainEpoch& earlier : state_.epochs)
      if (options_.keep_best && one.quantized && earlier.quantized && *earlier.quantized >= *one.quantized) return;
    state_.best_epoch = one.epoch;
    if (!options_.folder.empty()) return write_best(options_.folder, graph_.state());
    best_.clear();
    for (const auto& [name, tensor] : graph_.state()) best_.emplace(name, tensor.detach().clone());
  }
  TensorMap best_tensors() const { return options_.folder.empty() ? best_ : read_best(options_.folder); }

  double step(const Batch& batch) {
    const at::Tensor loss = forward(batch);
    const double value = loss.item<double>();
    QUENCH_CHECK(std::isfinite(value), "the loss is ", value, " at step ", state_.step + 1, " of ",
                 per_epoch_ * options_.epochs, ": try a lower learning rate (lr is ", rate(), " there)");
    optimizer_.zero_grad();
    loss.backward();
    if (options_.clip_norm > 0) optimizer_.clip(options_.clip_norm);
    optimizer_.step(factor());
    average_.update();
    return value;
  }

  // Its random numbers depend on seed and step alone, so that a resumed run draws the same.
  at::Tensor forward(const Batch& batch) {
    const auto step = static_cast<std::uint64_t>(state_.step);
    const std::uint64_t drawn = stable_hash(concat(options_.seed, " ", step));
    const NamedValues inputs = augmented(bind_inputs(model_.graph, batch), drawn);
    at::Tensor taught;
    if (teacher_) taught = teacher_->run(inputs).tensor();
    at::Tensor logits;
    {
      const Autocast autocast(options_.bf16, options_.device);
      logits = graph_.forward(inputs, /*training=*/true, drawn, step).front();
    }
    return training_loss(logits, taught, batch, data_.train, options_);
  }

  NamedValues augmented(NamedValues inputs, std::uint64_t seed) const {
    if (!options_.augment.any()) return inputs;
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    for (auto& [name, value] : inputs) {
      if (!value.is_tensor() || value.tensor().dim() != 4 || !value.tensor().is_floating_point()) continue;
      at::Tensor images = random_crop(value.tensor(), options_.augment.crop, generator);
      if (options_.augment.flip) images = random_flip(images, generator);
      value = RtValue(images, value.dtype());
    }
    return inputs;
  }

  void save() {
    if (options_.folder.empty()) return;
    TrainState state = state_;
    state.seconds_in_epoch = state.items_in_epoch > 0 ? state_.seconds_in_epoch + seconds_since(epoch_start_) : 0.0;
    state.tensors = {{"model", graph_.state()},
                     {"optimizer", optimizer_.state()},
                     {"observers", graph_.observers()},
                     {"average", average_.state()}};
    write_checkpoint(options_.folder, state);
  }

  void resume() {
    std::optional<TrainState> found = read_checkpoint(options_.folder, state_.key);
    if (!found) return record_.notes.push_back("there was no checkpoint to resume from: trained from the start");
    if (found->norms_frozen) graph_.freeze_norms();
    graph_.load(found->tensors["model"]);
    optimizer_.load(found->tensors["optimizer"]);
    graph_.load_observers(found->tensors["observers"]);
    average_.load(found->tensors["average"]);
    found->tensors.clear();
    state_ = std::move(*found);
  }

  TrainRecord finished() {
    record_.epochs = state_.epochs;
    record_.best_epoch = state_.best_epoch;
    record_.steps = state_.step;
    record_.items = state_.items;
    record_.seconds = state_.seconds;
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
  std::unique_ptr<FastRun> teacher_;
  std::unique_ptr<TrainingLog> log_;
  std::unique_ptr<Loader> loader_;
  TrainState state_;
  TensorMap best_;
  TrainRecord record_;
  Clock::time_point epoch_start_ = Clock::now();
};

}  // namespace

TrainRecord train(QuantizedModel& model, const TrainData& data, const TrainOptions& options, const Graph* teacher) {
  check_train_options(options);
  check_trainable(data.train, options);
  if (data.validation) check_validates(*data.validation);
  verify(model, ModelStage::kPrepared);
  QUENCH_CHECK(model.stage != ModelStage::kConverted, "a converted model has no parameters to train");
  const std::uint64_t key = job_key(model, data, options);
  TrainRecord record = Trainer(model, data, options, teacher).run(key);
  model.stage = ModelStage::kTrained;
  for (const std::string& raised : fit_biases(model)) record.notes.push_back(raised);
  verify(model, ModelStage::kTrained);
  return record;
}

}  // namespace quench

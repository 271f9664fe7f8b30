#include "qat/train_step.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

#include "core/hash.h"
#include "graph/autocast.h"
#include "qat/augment.h"
#include "qat/loss.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kMostUnread = 256;  // steps that a GPU may be behind

}  // namespace

struct TrainStep::Staged {
  NamedValues inputs;
  at::Tensor labels, taught;  // undefined where the batch itself has them, and without a teacher
  std::uint64_t drawn = 0;    // seed of this step
  std::int64_t classes = 0;
  at::Tensor loss;
  at::Tensor losses;  // of steps that were not read yet
};

TrainStep::TrainStep(const Parts& parts, const Dataset& data, const TrainOptions& options, const Graph* teacher,
                     bool capture)
    : parts_(parts),
      data_(data),
      options_(options),
      capture_(capture),
      defers_(options.device != "cpu" && !parts.together.processes().are_several()),
      upload_(defers_ ? options.device : "cpu"),
      staged_(std::make_unique<Staged>()) {
  if (teacher && options.distill.weight > 0) teacher_ = std::make_unique<FastRun>(teacher->clone(), options.device);
  QUENCH_CHECK(teacher_ || options.distill.weight == 0, "distill.weight is ", options.distill.weight,
               ", but no float model was given to learn from");
  if (defers_) staged_->losses = at::empty({kMostUnread}, at::dtype(at::kFloat).device(at::Device(options.device)));
}
TrainStep::~TrainStep() = default;

void TrainStep::run(const Batch& batch, const StepPlace& place) {
  batch_ = &batch;
  place_ = place;
  stage(batch);
  parts_.optimizer.set_factor(place.factor);
  if (may_be_captured()) {
    replay(batch);
  } else {
    replay_.reset();
    compute();
  }
  if (defers_) keep_loss();
}

// Random numbers depend on seed and step alone, so that a resumed run draws the same.
void TrainStep::stage(const Batch& batch) {
  Staged& staged = *staged_;
  staged.drawn = stable_hash(concat(options_.seed, " ", static_cast<std::uint64_t>(place_.before)));
  NamedValues inputs = augmented(bind_inputs(parts_.graph.graph(), batch), options_.augment, staged.drawn,
                                 parts_.together.part(batch.size()));
  if (!defers_) {
    staged.inputs = std::move(inputs);
    if (teacher_) staged.taught = teacher_->run(staged.inputs).tensor();
    return;
  }
  for (const auto& [name, value] : inputs) {
    at::Tensor there = staged.inputs.contains(name) ? staged.inputs.at(name).tensor() : at::Tensor();
    put(there, value.tensor());
    staged.inputs[name] = RtValue(there, value.dtype());
  }
  if (data_.task() == Task::kClassify) put(staged.labels, at::tensor(batch.labels, at::kLong));
  if (teacher_) put(staged.taught, teacher_->run(staged.inputs).tensor());
}

// Into the same memory as before, which a captured step reads. Of another shape it is another step.
void TrainStep::put(at::Tensor& to, const at::Tensor& from) {
  const at::Tensor there = upload_.copy(from);
  if (to.defined() && to.sizes() == there.sizes() && to.scalar_type() == there.scalar_type()) {
    to.copy_(there, /*non_blocking=*/true);
    return;
  }
  to = there;
  replay_.reset();
}

// What observers see goes to the CPU, and the targets of texts come from there.
bool TrainStep::may_be_captured() const {
  return capture_ && defers_ && note_.empty() && data_.task() != Task::kNextToken && !parts_.graph.flags().observe;
}

void TrainStep::replay(const Batch& batch) {
  if (form_ != parts_.graph.form()) replay_.reset();
  if (!replay_) {
    replay_ = std::make_unique<Replay>(options_.device, [this] { compute(); });
    form_ = parts_.graph.form();
  }
  const bool was_captured = replay_->is_captured();
  if (was_captured && staged_->labels.defined()) check_labels(batch, staged_->classes);
  replay_->run();
  if (was_captured) parts_.graph.count_batches();
  if (!replay_->refusal().empty())
    note_ = concat("the step could not be captured as a CUDA graph and ran operator by operator: ", replay_->refusal());
}

void TrainStep::compute() {
  const at::Tensor loss = forward();
  parts_.optimizer.zero_grad();
  parts_.together.backward(loss);
  staged_->loss = parts_.together.finish(loss);
  if (!defers_) {
    read_.push_back(staged_->loss.item<double>());
    check(read_.back(), place_);
  }
  if (options_.clip_norm > 0) parts_.optimizer.clip(options_.clip_norm);
  parts_.optimizer.step();
  parts_.graph.follow_norms();
  parts_.average.update();
}

at::Tensor TrainStep::forward() {
  const Staged& staged = *staged_;
  at::Tensor logits;
  {
    const Autocast autocast(options_.bf16, options_.device);
    logits = parts_.graph
                 .forward(staged.inputs, /*training=*/true, parts_.together.own_seed(staged.drawn),
                          static_cast<std::uint64_t>(place_.before))
                 .front();
  }
  const bool is_text = data_.task() == Task::kNextToken;
  const double weight = is_text ? parts_.together.weight_of(targets_in(*batch_, data_)) : 1.0;
  staged_->classes = logits.dim() > 0 && logits.size(0) > 0 ? logits.numel() / logits.size(0) : 0;
  return training_loss(
      {logits, staged.taught, *batch_, data_, weight, staged.labels.defined() ? &staged.labels : nullptr}, options_);
}

void TrainStep::keep_loss() {
  const c10::NoGradGuard no_grad;
  const auto count = static_cast<std::int64_t>(unread_.size());
  staged_->losses.narrow(0, count, 1).copy_(staged_->loss.reshape({1}));
  unread_.push_back(place_);
  if (count + 1 == kMostUnread) read_losses();
}

void TrainStep::read_losses() {
  if (unread_.empty()) return;
  const at::Tensor all = staged_->losses.narrow(0, 0, static_cast<std::int64_t>(unread_.size())).cpu();
  const std::vector<StepPlace> places = std::exchange(unread_, {});
  for (std::size_t i = 0; i < places.size(); ++i) {
    read_.push_back(all.const_data_ptr<float>()[i]);
    check(read_.back(), places[i]);
  }
}

void TrainStep::check(double loss, const StepPlace& place) const {
  QUENCH_CHECK(std::isfinite(loss), "the loss is ", loss, " at step ", place.before + 1, " of ", place.all,
               ": try a lower learning rate (lr is ", options_.optimizer.lr * place.factor,
               " there), or look for NaN in the data");
}

std::vector<double> TrainStep::losses() {
  read_losses();
  return std::exchange(read_, {});
}

}  // namespace quench

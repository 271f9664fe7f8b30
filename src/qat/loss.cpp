#include "qat/loss.h"

#include <ATen/ATen.h>

#include "core/counted.h"
#include "qat/schedule.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kIgnored = -100;  // a target that does not count

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, const TrainOptions& options) {
  return at::cross_entropy_loss(logits, targets.to(logits.device()), /*weight=*/{}, at::Reduction::Mean, kIgnored,
                                options.label_smoothing);
}

at::Tensor label_loss(const at::Tensor& logits, const LossInput& input, const TrainOptions& options) {
  QUENCH_CHECK(logits.dim() >= 2, "the model's first output has the shape ", logits.sizes(),
               "; logits of [batch, classes] were expected");
  const at::Tensor rows = logits.flatten(1);
  check_labels(input.batch, rows.size(1));
  return cross_entropy(rows, input.labels ? *input.labels : at::tensor(input.batch.labels, at::kLong), options);
}

// Position t predicts token t + 1; padding does not count.
at::Tensor token_loss(const at::Tensor& logits, const Batch& batch, const Dataset& data, const TrainOptions& options) {
  const at::Tensor tokens = batch.inputs.at(data.token_input()).tensor().to(at::kLong);
  QUENCH_CHECK(logits.dim() == 3 && logits.size(1) == tokens.size(1), "the model's first output has the shape ",
               logits.sizes(), "; logits of [batch, ", tokens.size(1), ", vocabulary] were expected");
  at::Tensor targets = at::full_like(tokens, kIgnored);
  const std::int64_t length = tokens.size(1);
  targets.narrow(1, 0, length - 1).copy_(tokens.narrow(1, 1, length - 1));
  for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
    const std::int64_t scored = std::max<std::int64_t>(batch.lengths[i] - 1, 0);
    targets[static_cast<std::int64_t>(i)].narrow(0, scored, length - scored).fill_(kIgnored);
  }
  return cross_entropy(logits.flatten(0, 1), targets.flatten(), options);
}

// One row per prediction: an item, or a position of a text that is not padding.
at::Tensor predictions(const at::Tensor& logits, const Batch& batch, const Dataset& data) {
  if (data.task() != Task::kNextToken) return logits.flatten(1);
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i < batch.lengths.size(); ++i)
    rows.push_back(logits[static_cast<std::int64_t>(i)].narrow(0, 0, std::max<std::int64_t>(batch.lengths[i], 1)));
  return at::cat(rows);
}

at::Tensor weighted_target_loss(const at::Tensor& logits, const LossInput& input, const TrainOptions& options) {
  if (input.weight == 0) return logits.sum() * 0;  // a mean over nothing would not be a number
  const at::Tensor loss = input.data.task() == Task::kNextToken ? token_loss(logits, input.batch, input.data, options)
                                                                : label_loss(logits, input, options);
  return input.weight == 1 ? loss : loss * input.weight;
}

// Hinton et al., section 2: softmaxes at a temperature T, the gradient scaled back by T squared.
at::Tensor distance(const at::Tensor& logits, const at::Tensor& teacher, double temperature) {
  const at::Tensor ours = (logits / temperature).log_softmax(1);
  const at::Tensor theirs = (teacher.detach().to(logits.device()) / temperature).log_softmax(1);
  return at::kl_div(ours, theirs, at::Reduction::Sum, /*log_target=*/true) *
         (temperature * temperature / static_cast<double>(ours.size(0)));
}

}  // namespace

void check_trainable(const Graph& graph, const Dataset& data, const TrainOptions& options) {
  QUENCH_CHECK(data.task() != Task::kNone || options.distill.weight == 1,
               "the training data has no labels: to learn from the float model alone, set train.distill.weight to 1");
  QUENCH_CHECK(data.size() > 0, "the training data is empty");
  const std::int64_t steps = steps_per_epoch(graph, data, options) * options.epochs;
  QUENCH_CHECK(options.schedule.warmup_steps <= steps, "the warm-up takes ", options.schedule.warmup_steps,
               " steps, and ", counted(options.epochs, "epoch"), options.epochs == 1 ? " has " : " have ", steps);
}

void check_labels(const Batch& batch, std::int64_t classes) {
  for (std::size_t i = 0; i < batch.labels.size(); ++i)
    QUENCH_CHECK(batch.labels[i] >= 0 && batch.labels[i] < classes, "'", batch.names[i], "' has the label ",
                 batch.labels[i], ", but the model has ", classes, " classes");
}

double targets_in(const Batch& batch, const Dataset& data) {
  if (data.task() != Task::kNextToken) return static_cast<double>(batch.size());
  double count = 0;
  for (const std::int64_t length : batch.lengths) count += static_cast<double>(std::max<std::int64_t>(length - 1, 0));
  return count;
}

at::Tensor training_loss(const LossInput& input, const TrainOptions& options) {
  const at::Tensor logits = input.logits.to(at::kFloat);
  const double learned = input.teacher.defined() ? options.distill.weight : 0.0;
  at::Tensor loss;
  if (learned < 1) loss = weighted_target_loss(logits, input, options);
  if (learned == 0) return loss;
  const at::Tensor far = distance(predictions(logits, input.batch, input.data),
                                  predictions(input.teacher, input.batch, input.data), options.distill.temperature);
  return loss.defined() ? loss * (1 - learned) + far * learned : far;
}

}  // namespace quench

// What training makes smaller: cross-entropy with the labels (or the next tokens), the distance to the float model's
// logits, or a mix of both.
#pragma once

#include "quench/train.h"

namespace quench {

struct LossInput {
  const at::Tensor& logits;   // the model's first output
  const at::Tensor& teacher;  // that of the float model, undefined without distillation
  const Batch& batch;
  const Dataset& data;
  double weight = 1.0;  // of labels and next tokens: those of a share weigh as they do in the whole batch
  const at::Tensor* labels = nullptr;  // of the batch, where the logits are, if they are there already
};
at::Tensor training_loss(const LossInput& input, const TrainOptions& options);

// Throws if a label is not one of the classes.
void check_labels(const Batch& batch, std::int64_t classes);

// How many labels or tokens of the batch count.
double targets_in(const Batch& batch, const Dataset& data);

// Throws if the data cannot train: no labels, and no float model to learn from; or fewer steps than the warm-up has.
void check_trainable(const Graph& graph, const Dataset& data, const TrainOptions& options);

}  // namespace quench

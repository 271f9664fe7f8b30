// What training makes smaller: cross-entropy with the labels (or the next tokens), the distance to the float model's
// logits, or a mix of both.
#pragma once

#include "quench/train.h"

namespace quench {

// `logits` is the model's first output; `teacher` that of the float model, undefined without distillation.
at::Tensor training_loss(const at::Tensor& logits, const at::Tensor& teacher, const Batch& batch, const Dataset& data,
                         const TrainOptions& options);

// Throws if the data cannot train: no labels, and no float model to learn from.
void check_trainable(const Dataset& data, const TrainOptions& options);

}  // namespace quench

// How good a model in training is: it is measured as it would be deployed.
#pragma once

#include "quench/train.h"

namespace quench {

// Top-1, or the negative perplexity of texts: more is better. With quantizers, or the float network behind them.
double validation_score(const Graph& graph, const Dataset& data, const TrainOptions& options, bool quantized);

// Throws if nothing can be measured on the data.
void check_validates(const Dataset& data);

}  // namespace quench

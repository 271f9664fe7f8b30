// How good a model in training is: it is measured as it would be deployed.
#pragma once

#include "quench/train.h"

namespace quench {

// The metric of the options, or top-1 or perplexity, as the data is; with a minus where less is better. With
// quantizers, or the float network behind them.
double validation_score(const Graph& graph, const Dataset& data, const TrainOptions& options, bool quantized);

// Throws if nothing can be measured on the data.
void check_validates(const Graph& graph, const Dataset& data, const TrainOptions& options);

}  // namespace quench

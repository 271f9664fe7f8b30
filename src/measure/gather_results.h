// Evaluation by several processes: everyone gets what all of them found.
#pragma once

#include <vector>

#include "quench/distributed.h"
#include "quench/evaluate.h"

namespace quench {

// Losses are added in order of the texts, whoever read them: the sum has the bits of one process.
struct TextLoss {
  std::int64_t index = 0;  // in the data set
  double loss = 0.0;
};

// Counts are added up, predictions and losses come in order of the data set, skipped items in order of the ranks. The
// time in the model is that of the slowest.
void gather_results(const Processes& processes, EvalResult& result, std::vector<TextLoss>& texts);

}  // namespace quench

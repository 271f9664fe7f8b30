// Evaluation by several processes: everyone gets what all of them found.
#pragma once

#include <vector>

#include "measure/metric_run.h"
#include "quench/distributed.h"
#include "quench/evaluate.h"

namespace quench {

// Items come in order of the data set, whoever measured them: values then have the bits of one process. Skipped items
// come in order of the ranks. The time in the model is that of the slowest.
void gather_results(const Processes& processes, EvalResult& result, std::vector<MeasuredItem>& items);

}  // namespace quench

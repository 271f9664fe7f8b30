// What a checkpoint belongs to.
#pragma once

#include <cstdint>
#include <string>

#include "quench/train.h"

namespace quench {

// Of all that decides the result of a training job: graph, plan, weights, options, the teacher's weights, and a few
// items of the data. The number of processes does not.
std::uint64_t job_key(const QuantizedModel& model, const TrainData& data, const TrainOptions& options,
                      const Graph* teacher = nullptr);

// The options alone, one per line; and checksums of network and plan.
std::string text_of_train_options(const TrainOptions& options);
std::string text_of_model(const QuantizedModel& model);

}  // namespace quench

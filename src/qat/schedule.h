// The schedule of the learning rate, which schedule_factor() (quench/train.h) computes.
#pragma once

#include "quench/train.h"

namespace quench {

void check_schedule_name(const std::string& name);  // throws for one that is unknown

// The same, and throws for values that make no sense.
void check_schedule(const ScheduleOptions& schedule, int epochs);

// A model may fix its batch.
std::int64_t steps_per_epoch(const Graph& graph, const Dataset& data, const TrainOptions& options);

}  // namespace quench

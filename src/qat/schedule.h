// The schedule of the learning rate, which schedule_factor() (quench/train.h) computes.
#pragma once

#include "quench/train.h"

namespace quench {

// Throws for an unknown name, and for values that make no sense.
void check_schedule(const ScheduleOptions& schedule, int epochs);

}  // namespace quench

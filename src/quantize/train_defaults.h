// What a job that trains leaves open.
#pragma once

#include "quench/config.h"

namespace quench {

// Scales learn (lsq) unless a fake quantizer is named; on a platform whose schemes the user chooses, weights per
// channel and ranges of least error, as published for few bits. A job that does not train stays as it is.
JobConfig with_train_defaults(JobConfig config);

}  // namespace quench

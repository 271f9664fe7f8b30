// What a job that trains leaves open.
#pragma once

#include "quench/quantize.h"

namespace quench {

// Scales learn (lsq) unless a fake quantizer is named; on a platform whose schemes the user chooses, weights per
// channel and ranges of least error, as published for few bits. A job that does not train stays as it is.
JobConfig with_train_defaults(JobConfig config);

// Of a job that trains: with what it says for all of its stages, and with the callers of `options`. `original` is the
// float network for metrics, and must outlive them.
TrainOptions train_options(const JobConfig& config, const QuantizeOptions& options, const Graph& original);

}  // namespace quench

// The stage `reconstruct`: how a job's method is run.
#pragma once

#include "quench/quantize.h"

namespace quench {

// On the items that calibration reads: all of `calib`, or as many as its batches have. What a user should know of it
// goes into `notes`.
ReconstructionRecord reconstruct_units(QuantizedModel& model, const Dataset& calib, const JobConfig& config,
                                       const QuantizeOptions& options, std::vector<std::string>& notes);

}  // namespace quench

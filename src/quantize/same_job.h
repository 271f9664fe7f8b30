// Several processes quantize one model together: each must have been told the same.
#pragma once

#include "quench/quantize.h"

namespace quench {

// Throws in all of them if jobs, options, models or sizes of data differ: before any work, and before they wait for
// each other in different places. Where files lie may differ from machine to machine.
void check_same_job(const Graph& graph, const QuantizeData& data, const JobConfig& config,
                    const QuantizeOptions& options);

}  // namespace quench

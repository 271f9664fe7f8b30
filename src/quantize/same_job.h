// Several processes quantize one model together: each must have been told the same.
#pragma once

#include <string>

#include "quench/quantize.h"

namespace quench {

// Throws in all of them if jobs, options, models or sizes of data differ: before any work, and before they wait for
// each other in different places. Where files lie may differ from machine to machine.
void check_same_job(const Graph& graph, const QuantizeData& data, const JobConfig& config,
                    const QuantizeOptions& options);

// Of what must be the same: without names of files and folders, and with "cuda" for the GPU of each process.
std::string text_of_job(JobConfig config);

}  // namespace quench

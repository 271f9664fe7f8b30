// What --dry-run prints: what would be quantized and learned, and what that needs.
#pragma once

#include "cli/quantize_job.h"
#include "quench/data.h"
#include "quench/quantize.h"

namespace quench {

// Of a job that was stopped after its plan. Null: there is no such data.
void print_need(const QuantizeJob& job, const Quantized& planned, const Dataset* calib, const Dataset* train,
                bool json);

}  // namespace quench

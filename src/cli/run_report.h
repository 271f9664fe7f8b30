// --report of quantize and train.
#pragma once

#include "cli/quantize_job.h"
#include "core/output_folder.h"

namespace quench {

// A page about what is staged; training's logs lie in the folder itself. Values of activations are counted on
// calibration's data (null: not).
void write_run_report(const QuantizeJob& job, const OutputFolder& folder, const QuantizedModel& model,
                      const Dataset* calib);

}  // namespace quench

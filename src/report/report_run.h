// What the HTML report's page is told about one run, as JSON: the record word for word, and what follows from the model
// and the other files.
#pragma once

#include "quench/html_report.h"
#include "report/json.h"

namespace quench {

// The model's file of a folder that a run wrote; throws if it is none.
std::string model_of_run(const std::string& folder);

Json run_json(const ReportRun& run);
Json run_json(const Quantized& result, const std::string& name, const std::vector<TensorHistogram>& activations);

}  // namespace quench

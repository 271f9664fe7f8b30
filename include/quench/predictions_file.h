// The predictions file and the measurements file (docs/formats.md): text, one line per item.
#pragma once

#include <string>
#include <vector>

#include "quench/evaluate.h"

namespace quench {

void write_predictions(const std::string& path, const std::vector<Prediction>& predictions);
std::vector<Prediction> read_predictions(const std::string& path);

// The same for any metrics: one line per item and metric, with the item's statistic. What is read back has the items of
// each metric, for compare_results, and no values.
void write_measurements(const std::string& path, const EvalResult& result);
EvalResult read_measurements(const std::string& path);

enum class ResultsFile : std::uint8_t { kPredictions, kMeasurements, kNeither };
ResultsFile kind_of_results(const std::string& path);  // by its first line

}  // namespace quench

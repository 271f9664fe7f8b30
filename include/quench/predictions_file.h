// The predictions file (docs/formats.md): what metrics found for each item, as text. `quench eval --predictions` writes
// it, `--against` compares with it.
#pragma once

#include <string>

#include "quench/evaluate.h"

namespace quench {

// One line per item and metric, with the item's statistic; where the data has no labels, the predictions.
void write_predictions(const std::string& path, const EvalResult& result);
// What is read back has the items of each metric and the predictions, for compare_results and compare_predictions, and
// no values. Throws for a file of an older format.
EvalResult read_predictions(const std::string& path);
bool is_predictions_file(const std::string& path);  // of this format or an older one, by its first line

}  // namespace quench

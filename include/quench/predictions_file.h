// The predictions file (docs/formats.md): text, one line per image.
#pragma once

#include <string>
#include <vector>

#include "quench/evaluate.h"

namespace quench {

void write_predictions(const std::string& path, const std::vector<Prediction>& predictions);
std::vector<Prediction> read_predictions(const std::string& path);

}  // namespace quench

// Differences of two models, for readers: JSON, and a table.
#pragma once

#include <optional>
#include <string>

#include "quench/compare_models.h"
#include "report/json.h"

namespace quench {

Json json_of(const ModelComparison& found, std::optional<double> bound);
std::string compare_text(const ModelComparison& found, std::optional<double> bound);

}  // namespace quench

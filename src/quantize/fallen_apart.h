// The loud warning that a quantized model is useless, with the layers to blame and what to try.
#pragma once

#include <optional>
#include <string>

#include "quench/quantize.h"

namespace quench {

// Nothing if the model has not fallen apart. Names the worst layers of `record.profile`, if there is one.
std::optional<std::string> fallen_apart_warning(const QuantizeRecord& record, const JobConfig& config);

}  // namespace quench

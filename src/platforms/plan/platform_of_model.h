// The platform that a model's plan names. Where nobody knows it, the error says which plug-in the model was made with.
#pragma once

#include "quench/platform.h"
#include "quench/quantized_model.h"

namespace quench {

// Throw for a name that is not registered; the plan must name one.
std::string platform_name_of(const QuantizedModel& model);
const Platform& platform_of(const QuantizedModel& model);

}  // namespace quench

// What a job leaves behind beside its record: the model file, and the plan to edit.
#pragma once

#include "quench/quantize.h"

namespace quench {

// The model with its plan, and where it came from, in the metadata: quantized_model_of() reads it back.
Graph result_file(const Quantized& result);

// The plan as it fits the float model: what smoothing moved is back in place. That is the one to edit and feed back.
QuantPlan plan_of_float_model(const QuantizeRecord& record);

}  // namespace quench

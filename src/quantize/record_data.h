// What a record says about data and model as they came.
#pragma once

#include "quench/quantize.h"

namespace quench {

// What its items are called, and warnings where it and the model hardly belong together.
void record_data(const QuantizeData& data, const Graph& model, QuantizeRecord& record);

// That a model in 16-bit floats is widened.
std::vector<std::string> widening_notes(const Graph& graph);

}  // namespace quench

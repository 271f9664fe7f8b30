// What a record says about data and model as they came, and about what metrics found.
#pragma once

#include "quench/quantize.h"

namespace quench {

// What its items are called, and warnings where it and the model hardly belong together.
void record_data(const QuantizeData& data, const Graph& model, QuantizeRecord& record);

// Of each metric that was asked for; none where the usual ones were measured.
std::vector<MetricChange> metric_changes(const EvalResult& in_float, const EvalResult& quantized);

// That a model in 16-bit floats is widened.
std::vector<std::string> widening_notes(const Graph& graph);

}  // namespace quench

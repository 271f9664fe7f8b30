// What the two kinds of bias correction share.
#pragma once

#include <vector>

#include "data/feed.h"
#include "quench/data.h"
#include "quench/ptq.h"

namespace quench {

// A copy with only the weights quantized. The rounding of the old bias must not be measured: the new one is rounded
// once. Nor must activations: what their range cuts off is a few large values, which a shift of all others would make
// worse (MobileNetV2, SQNR of the logits: docs/results.md).
Graph with_weights_quantized(const Graph& graph);

// How the data is fed: as much as memory holds if the options do not say, so that the result does not depend on it.
FeedOptions feed_options(const Graph& graph, const Dataset& data, const BiasCorrectionOptions& options);

// `shift` of each channel; `deviation`, of all elements of the layer's output, is the unit of the record.
CorrectedLayer record_of(const Node& layer, const at::Tensor& shift, double deviation);

void correct_sequentially(QuantizedModel& model, const std::vector<Node*>& layers, const Dataset& data,
                          const BiasCorrectionOptions& options, BiasCorrectionRecord& record);

}  // namespace quench

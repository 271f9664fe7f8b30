// The bias of a layer in a graph with quantizers.
#pragma once

#include <string>
#include <vector>

#include "quench/quantized_model.h"

namespace quench {

// Conv, ConvTranspose and Gemm nodes whose weight is quantized, and MatMul nodes followed by an Add of a constant
// vector, in order of the graph; others with a quantized weight are named in `skipped`.
std::vector<Node*> correctable_layers(const Graph& graph, std::vector<std::string>& skipped);

// Adds `shift` (one number per output channel) to the layer's bias, which is created if there is none, and
// planned if the target has its biases in int32.
void shift_bias(QuantizedModel& model, Node& layer, const at::Tensor& shift);

// Of what the layer writes: 1, or the last of a MatMul.
int channel_axis(const Node& layer);
// [all other dims, output channels].
at::Tensor channel_columns(const Node& layer, const at::Tensor& y);
// One mean for each output channel, over all other dims; in double.
at::Tensor channel_means(const Node& layer, const at::Tensor& y);

}  // namespace quench

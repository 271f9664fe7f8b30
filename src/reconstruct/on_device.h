// Where the constants of a graph lie that reconstruction runs on a device.
#pragma once

#include <string>

#include "quench/graph.h"

namespace quench {

// Weights that a quantizer reads. It runs where its weight lies: else each run would copy what it gives to the device,
// which costs time and cannot be captured. The graph must not share its constants.
void move_weights(Graph& graph, const std::string& device);
// All constants to the CPU, quantizers' state too, which follows the data to a device.
void bring_home(Graph& graph);

}  // namespace quench

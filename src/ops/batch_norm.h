// What BatchNormalization and its fused form (ops/live_norm.cpp) share while they train.
#pragma once

namespace quench {

class Node;

// How much of a new statistic goes into the running one: LibTorch's momentum, from ONNX's attribute.
double torch_momentum(const Node& node);
// Adds one to the module's num_batches_tracked, where the node carries it.
void count_batch(const Node& node);
// Whether it carries one that lies on the CPU.
bool counts_on_host(const Node& node);

}  // namespace quench

// What BatchNormalization and its fused form (ops/live_norm.cpp) share while they train.
#pragma once

namespace at {
class Tensor;
}

namespace quench {

class Inputs;
class Node;
struct BatchShares;

// How much of a new statistic goes into the running one: LibTorch's momentum, from ONNX's attribute.
double torch_momentum(const Node& node);
// Adds one to the module's num_batches_tracked, where the node carries it.
void count_batch(const Node& node);
// Whether it carries one that lies on the CPU.
bool counts_on_host(const Node& node);

// A BatchNormalization in training by the statistics of all shares of the batch.
at::Tensor normalize_with_shares(const Node& node, const Inputs& in, const BatchShares& shares);

}  // namespace quench

// What LibTorch takes on trust from a TorchScript file: sizes, strides and the bytes of a storage as the pickle gives
// them, whatever the archive holds.
#pragma once

namespace torch::jit {
struct Graph;
struct Module;
}  // namespace torch::jit

namespace quench {

// Throws for a tensor among the attributes of the module or the constants of the graph that does not lie inside what
// was read for it, or is sparse, quantized or on another device.
void check_torchscript_tensors(const torch::jit::Module& module, const torch::jit::Graph& graph);

}  // namespace quench

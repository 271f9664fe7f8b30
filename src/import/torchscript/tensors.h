// What LibTorch believes of a TorchScript file: it takes sizes, strides and the bytes of a storage as the pickle says
// them, whatever there is in the archive.
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

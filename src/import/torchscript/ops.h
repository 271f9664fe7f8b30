// Which operators a TorchScript program may call: the program is run to be traced.
#pragma once

namespace torch::jit {
struct Graph;
}

namespace quench {

// Before calls are inlined, which may turn a small file into an endless program.
void check_inlined_size(const torch::jit::Graph& graph);

// `graph` is inlined. Throws, naming the operator, for one of another library, for one that touches files, and for
// a call whose target is not known.
void check_torchscript_ops(const torch::jit::Graph& graph);

// Attention and transformer layers as one operator: what PyTorch's modules run where no gradient is wanted.
bool has_fused_attention(const torch::jit::Graph& graph);

bool has_loops(const torch::jit::Graph& graph);

}  // namespace quench

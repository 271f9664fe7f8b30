// Runs a TorchScript program node by node, in a bounded number of steps, and records it while a trace is being made
// (trace.h). Branches and loops that depend on sizes, constants and settings are simply run; those that depend on data
// are recorded as such (torchscript/blocks.h). Without a trace everything is simply run.
#pragma once

#include <vector>

#include "import/torchscript/sizes.h"

namespace c10 {
struct IValue;
}
namespace torch::jit {
struct Graph;
struct Node;
}  // namespace torch::jit

namespace quench {

// `graph` has its calls inlined. The nodes of `kept` are recorded as such though they depend not on data
// but on the sizes of the inputs. `seen` takes all others.
std::vector<c10::IValue> run_script(const torch::jit::Graph& graph, const std::vector<c10::IValue>& inputs,
                                    const ScriptNodes& kept, SeenNumbers& seen);

}  // namespace quench

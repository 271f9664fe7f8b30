// Runs a TorchScript program node by node, in a bounded number of steps, and records it while a trace is being made
// (trace.h). Branches and loops that hang on sizes, constants and settings are simply run; those that hang on data are
// recorded as such (torchscript_blocks.h). Without a trace everything is simply run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace c10 {
struct IValue;
}
namespace torch::jit {
struct Graph;
struct Node;
}  // namespace torch::jit

namespace quench {

// Loops of the program with the numbers of turns that they were seen to take, and comparisons of integers with the
// differences that they saw.
using SeenNumbers = std::map<const torch::jit::Node*, std::set<std::int64_t>>;
using ScriptNodes = std::set<const torch::jit::Node*>;

// `graph` has its calls inlined. The loops and comparisons of `kept` are recorded as such though they hang on no data:
// on the sizes of the inputs. `seen` takes all others.
std::vector<c10::IValue> run_script(const torch::jit::Graph& graph, const std::vector<c10::IValue>& inputs,
                                    const ScriptNodes& kept, SeenNumbers& seen);

}  // namespace quench

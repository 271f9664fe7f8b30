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

// A loop of the program, with the numbers of turns that it was seen to take.
using TripCounts = std::map<const torch::jit::Node*, std::set<std::int64_t>>;
using ScriptLoops = std::set<const torch::jit::Node*>;

// `graph` has its calls inlined. The loops of `kept` are recorded as loops though they hang on no data: on the sizes of
// the inputs. `counts` takes the turns of all others.
std::vector<c10::IValue> run_script(const torch::jit::Graph& graph, const std::vector<c10::IValue>& inputs,
                                    const ScriptLoops& kept, TripCounts& counts);

}  // namespace quench

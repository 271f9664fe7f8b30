// The nodes of a TorchScript program that are not operators: tuples, lists, dicts, objects and their attributes, raise.
#pragma once

#include <vector>

namespace c10 {
struct IValue;
}
namespace torch::jit {
struct Node;
}

namespace quench {

// Replaces the node's inputs on the stack by its results; false if the node is an operator.
bool run_construct(const torch::jit::Node& node, std::vector<c10::IValue>& stack);

}  // namespace quench

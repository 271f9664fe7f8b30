// Branches and loops of a TorchScript program whose condition depends on data, recorded in the trace: a prim::If with
// both of its sides, a prim::Loop with its body once, whatever this run's data would do.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "quench/error.h"

namespace at {
class Tensor;
}
namespace c10 {
struct IValue;
}
namespace torch::jit {
struct Node;
struct Block;
}  // namespace torch::jit

namespace quench {

// The program has reached a `raise`. A graph cannot take a branch that ends in one.
class Raised : public Error {
 public:
  using Error::Error;
};

// Runs a block of the program. What a recorded block changes outside itself must not be visible afterwards.
enum class BlockRun : std::uint8_t { kPlain, kRecorded };
using RunBlock = std::function<std::vector<c10::IValue>(const torch::jit::Block& block,
                                                        const std::vector<c10::IValue>& inputs, BlockRun run)>;

// The results of the node, one per output. Results are tensors of one shape on both sides, numbers, tuples of those, or
// the same on both sides.
std::vector<c10::IValue> record_if(const torch::jit::Node& node, const at::Tensor& condition, const RunBlock& run);

// `inputs` of the node: most turns, condition, states; turns are counted from `first`.
std::vector<c10::IValue> record_loop(const torch::jit::Node& node, const std::vector<c10::IValue>& inputs,
                                     std::int64_t first, const RunBlock& run);

}  // namespace quench

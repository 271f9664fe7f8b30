// What a TorchScript program decides by the sizes of its inputs. Traces of several batch sizes show numbers that
// differ; what is equal in all of them may still differ for a batch that none had.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace c10 {
struct IValue;
}
namespace torch::jit {
struct Node;
}

namespace quench {

// Of a loop: its turns, and its limit where that is below 0. Of a comparison, a minimum or a maximum: the difference.
// Of a division: dividend and divisor. Of what takes a broken number, which is compared alone: its bits.
using SeenNumber = std::array<std::int64_t, 2>;
using SeenNumbers = std::map<const torch::jit::Node*, std::set<SeenNumber>>;
using ScriptNodes = std::set<const torch::jit::Node*>;

bool is_comparison(const torch::jit::Node& node);

// Of a node that runs on numbers; nothing if it is none of these, or its numbers depend on data.
std::optional<SeenNumber> seen_by(const torch::jit::Node& node, const std::vector<c10::IValue>& stack);

// `seen`: at a batch of `size`, twice and three times that. Whether the node does, for some size from 1 on, what these
// do not show; true in doubt.
bool may_flip(const torch::jit::Node& node, const std::vector<SeenNumber>& seen, std::int64_t size);

}  // namespace quench

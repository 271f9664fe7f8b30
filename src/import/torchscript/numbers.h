// Numbers of a TorchScript program (int, float, bool) that depend on data. While a trace is recorded such a number is
// held as a recorded tensor without dims (int64, double, bool) instead of the number: a value of a number's static
// type that holds a tensor. Arithmetic on them is recorded as operators on those tensors.
#pragma once

#include <string>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct IValue;
struct Type;
}  // namespace c10
namespace torch::jit {
struct Node;
struct Value;
}  // namespace torch::jit

namespace quench {

bool is_data_number(const c10::IValue& value, const c10::Type& type);

// Any number as such a tensor, recorded.
at::Tensor number_tensor(const c10::IValue& number);

// Whether the node reads a number out of a tensor: int(x), x.item(), bool(x).
bool reads_number(const torch::jit::Node& node);

// Runs a node that reads a number from data, or computes with one: inputs on the stack are replaced by results. False
// where the node does neither; the stack is as it was.
bool run_data_numbers(const torch::jit::Node& node, std::vector<c10::IValue>& stack);

// For any other operator: numbers on the stack become plain ones, as they are in this run, and the operator that is run
// next is recorded with their tensors as arguments. Throws if an argument must be the same for every input (a size,
// an axis); check_taken does, once it has run, if it cannot be recorded this way.
struct HandedOver {
  std::string argument;
  torch::jit::Value* value;
};
std::vector<HandedOver> hand_over_numbers(const torch::jit::Node& node, std::vector<c10::IValue>& stack);
void check_taken(const torch::jit::Node& node, const std::vector<HandedOver>& numbers);

std::string place_in_source(const torch::jit::Node& node);  // for the end of a message; may be ""

}  // namespace quench

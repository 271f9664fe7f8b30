// How operators read their inputs: optional ones, and those that are read as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quench/op.h"

namespace quench {

bool given(const Inputs& in, std::size_t slot);  // false past the end and where the input is absent
std::optional<at::Tensor> optional_tensor(const Inputs& in, std::size_t slot);
at::Tensor tensor_or_undefined(const Inputs& in, std::size_t slot);
std::vector<std::int64_t> integers_at(const Inputs& in, std::size_t slot);  // of a host slot
std::int64_t integer_at(const Inputs& in, std::size_t slot);                // of a host slot with one element
std::vector<double> numbers_at(const Inputs& in, std::size_t slot);         // of a host slot
double number_at(const Inputs& in, std::size_t slot, double fallback);      // of a host slot with one element
bool wants_output(const Node& node, std::size_t index);

// For operators without kernels for every element type: unsigned integers wider than a byte have hardly
// any in LibTorch.
bool is_rare_integer(const at::Tensor& tensor);  // uint16, uint32, uint64

// The fewest trailing dims that `bias` [C] needs to be added along dim 1 of a tensor of rank `rank`.
at::Tensor per_channel(const at::Tensor& tensor, std::int64_t rank, std::int64_t axis = 1);

}  // namespace quench

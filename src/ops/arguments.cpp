#include "ops/arguments.h"

#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {

bool given(const Inputs& in, std::size_t slot) { return slot < in.size() && !in[slot].is_none(); }

std::optional<at::Tensor> optional_tensor(const Inputs& in, std::size_t slot) {
  return given(in, slot) ? std::optional(in[slot].tensor()) : std::nullopt;
}

at::Tensor tensor_or_undefined(const Inputs& in, std::size_t slot) {
  return given(in, slot) ? in[slot].tensor() : at::Tensor();
}

std::vector<std::int64_t> integers_at(const Inputs& in, std::size_t slot) { return integers_of(in[slot].tensor()); }

std::int64_t integer_at(const Inputs& in, std::size_t slot) {
  const std::vector<std::int64_t> numbers = integers_at(in, slot);
  QUENCH_CHECK(numbers.size() == 1, "input ", slot, " must have one element, it has ", numbers.size());
  return numbers[0];
}

std::vector<double> numbers_at(const Inputs& in, std::size_t slot) {
  const at::Tensor flat = in[slot].tensor().detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* data = flat.const_data_ptr<double>();
  return {data, data + flat.numel()};
}

double number_at(const Inputs& in, std::size_t slot, double fallback) {
  if (!given(in, slot)) return fallback;
  const std::vector<double> numbers = numbers_at(in, slot);
  QUENCH_CHECK(numbers.size() == 1, "input ", slot, " must have one element, it has ", numbers.size());
  return numbers[0];
}

bool wants_output(const Node& node, std::size_t index) {
  return index < node.outputs().size() && node.outputs()[index] != nullptr;
}

bool is_rare_integer(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
}

at::Tensor per_channel(const at::Tensor& tensor, std::int64_t rank, std::int64_t axis) {
  QUENCH_CHECK(axis >= 0 && axis < rank, "a tensor of rank ", rank, " has no dim ", axis, " for the channels");
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = tensor.numel();
  return tensor.reshape(shape);
}

}  // namespace quench

#include "ops/shape_rules.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

// Larger integer constants are data, not shapes.
constexpr std::size_t kMaxContents = 1024;

Dim broadcast_dim(const Dim& a, const Dim& b, const Node& node) {
  if (a.is_number() && a.number() == 1) return b;
  if (b.is_number() && b.number() == 1) return a;
  if (a.certainly_equal(b)) return a;
  QUENCH_CHECK(!(a.is_number() && b.is_number()), node.where(), ": dims ", a.text(), " and ", b.text(),
               " do not broadcast");
  if (a.is_number()) return a;  // the other must be 1 or the same
  if (b.is_number()) return b;
  return {};
}

void broadcast_all(Node& node, DType dtype) {
  std::optional<Dims> dims = input_dims(node, 0);
  for (std::size_t slot = 1; dims && slot < node.inputs().size(); ++slot) {
    if (!node.inputs()[slot]) continue;
    const std::optional<Dims> other = input_dims(node, static_cast<int>(slot));
    dims = other ? broadcast(*dims, *other, node) : std::nullopt;
  }
  set_type(node, 0, dtype, dims);
}

}  // namespace

void same_as_input(Node& node) {
  if (!node.input(0)) return;
  node.output().set_type(node.input(0)->type());
  node.output().contents = std::nullopt;
}

void identity_shape(Node& node) {
  same_as_input(node);
  set_contents(node, input_contents(node, 0));
}

void broadcast_inputs(Node& node) { broadcast_all(node, input_dtype(node, 0)); }
void broadcast_to_bool(Node& node) { broadcast_all(node, DType::kBool); }
void unknown_shape(Node& node) { set_type(node, 0, input_dtype(node, 0), std::nullopt); }

void set_type(Node& node, int output, DType dtype, std::optional<Dims> dims) {
  const auto index = static_cast<std::size_t>(output);
  if (index >= node.outputs().size() || !node.outputs()[index]) return;
  for (const Dim& dim : dims.value_or(Dims{}))
    QUENCH_CHECK(!dim.is_number() || (dim.number() >= 0 && dim.number() <= kLargestDim), node.where(),
                 " makes a dim of ", dim.number(), "; it must lie between 0 and ", kLargestDim);
  TypeInfo type = TypeInfo::tensor(dtype);
  type.dims = std::move(dims);
  node.outputs()[index]->set_type(std::move(type));
  node.outputs()[index]->contents = std::nullopt;
}

void set_contents(Node& node, std::optional<Dims> contents) {
  Value* output = node.outputs()[0];
  if (!output || !contents || contents->size() > kMaxContents) return;
  if (!is_integer(output->dtype()) && output->dtype() != DType::kBool) return;
  if (output->has_rank() && output->rank() <= 1) output->contents = std::move(contents);
}

DType input_dtype(const Node& node, int slot) {
  const Value* value = node.input(slot);
  return value ? value->dtype() : DType::kUndefined;
}

std::optional<Dims> input_dims(const Node& node, int slot) {
  const Value* value = node.input(slot);
  return value && value->has_rank() ? std::optional(value->dims()) : std::nullopt;
}

std::optional<Dims> input_contents(const Node& node, int slot) {
  const Value* value = node.input(slot);
  if (!value) return std::nullopt;
  if (!value->is_constant()) return value->contents;
  const at::Tensor& tensor = value->tensor();
  const bool is_countable = is_integer(value->dtype()) || value->dtype() == DType::kBool;
  if (!is_countable || tensor.dim() > 1 || tensor.numel() > static_cast<std::int64_t>(kMaxContents))
    return std::nullopt;
  const std::vector<std::int64_t> numbers = integers_of(tensor);
  return Dims(numbers.begin(), numbers.end());
}

std::optional<std::vector<std::int64_t>> input_integers(const Node& node, int slot) {
  const std::optional<Dims> contents = input_contents(node, slot);
  if (!contents) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Dim& dim : *contents) {
    if (!dim.is_number()) return std::nullopt;
    numbers.push_back(dim.number());
  }
  return numbers;
}

std::optional<std::int64_t> input_integer(const Node& node, int slot) {
  const auto numbers = input_integers(node, slot);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

std::optional<Dims> combine_contents(const Node& node, Dim (*rule)(const Dim&, const Dim&)) {
  const auto a = input_contents(node, 0), b = input_contents(node, 1);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  Dims result(std::max(a->size(), b->size()));
  if ((a->size() != 1 && a->size() != result.size()) || (b->size() != 1 && b->size() != result.size()))
    return std::nullopt;
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = rule((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
  return result;
}

Dims unknown_dims(std::size_t rank) { return Dims(rank); }

std::optional<Dims> broadcast(const Dims& a, const Dims& b, const Node& node) {
  Dims result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Dim left = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim right = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    result[result.size() - 1 - i] = broadcast_dim(left, right, node);
  }
  return result;
}

int normalize_axis(std::int64_t axis, int rank, const Node& node) {
  QUENCH_CHECK(axis >= -rank && axis < rank, node.where(), ": axis ", axis, " is out of range for rank ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace quench

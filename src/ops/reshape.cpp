// Operators that keep the elements and change the shape: Reshape and its relatives, Transpose, Expand; and
// those that read the shape alone.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "graph/tensor_types.h"
#include "ops/moving.h"
#include "ops/number_rules.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Sizes = std::vector<std::int64_t>;

OpTraits reads_shape() {
  OpTraits traits;
  traits.shape_only = true;
  return traits;
}

// start, end of Shape, clamped to 0..rank.
std::pair<std::int64_t, std::int64_t> shape_bounds(const Node& node, std::int64_t rank) {
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = clamp(node.get_int("start", 0)), end = clamp(node.get_int("end", rank));
  return {start, std::max(start, end)};
}

std::vector<RtValue> shape(const Node& node, const Inputs& in, ExecContext&) {
  const auto sizes = in[0].tensor().sizes();
  const auto [start, end] = shape_bounds(node, static_cast<std::int64_t>(sizes.size()));
  return {integer_tensor(Sizes(sizes.begin() + start, sizes.begin() + end))};
}

void shape_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  if (!dims) return set_type(node, 0, DType::kInt64, Dims{Dim()});
  const auto [start, end] = shape_bounds(node, static_cast<std::int64_t>(dims->size()));
  set_type(node, 0, DType::kInt64, Dims{end - start});
  set_contents(node, Dims(dims->begin() + start, dims->begin() + end));
}

std::vector<RtValue> size(const Node&, const Inputs& in, ExecContext&) {
  return {at::scalar_tensor(in[0].tensor().numel(), at::kLong)};
}

void size_shape(Node& node) {
  set_type(node, 0, DType::kInt64, Dims{});
  if (const auto dims = input_dims(node, 0)) set_contents(node, Dims{product(*dims, 0, dims->size())});
}

std::vector<RtValue> reshape(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  Sizes sizes = integers_of(in[1].tensor());
  const bool zero_is_zero = node.get_int("allowzero", 0) != 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 0 || zero_is_zero) continue;
    QUENCH_CHECK(static_cast<std::int64_t>(i) < x.dim(), "dim ", i, " of the new shape is 0 (copy the input's), but ",
                 "the input has only ", x.dim(), " dims");
    sizes[i] = x.size(static_cast<std::int64_t>(i));
  }
  // -1 beside a zero: LibTorch cannot tell, ONNX takes the quotient of the other dims.
  const auto inferred = std::find(sizes.begin(), sizes.end(), -1);
  if (inferred != sizes.end() && x.numel() == 0) *inferred = 0;
  return {RtValue(x.reshape(sizes), in[0].dtype())};
}

// The new dims, given the old ones; -1 is the quotient of the products.
Dims reshaped_dims(const Node& node, const Dims& wanted, const std::optional<Dims>& dims) {
  Dims result = wanted;
  int inferred = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].is_number()) continue;
    if (wanted[i].number() == 0 && node.get_int("allowzero", 0) == 0)
      result[i] = dims && i < dims->size() ? (*dims)[i] : Dim();
    if (wanted[i].number() == -1) inferred = static_cast<int>(i);
  }
  if (inferred < 0) return result;
  Dim& unknown = result[static_cast<std::size_t>(inferred)];
  unknown = Dim(1);
  const Dim total = dims ? product(*dims, 0, dims->size()) : Dim();
  const Dim others = product(result, 0, result.size());
  unknown = divide_exactly(total, others);
  return result;
}

void reshape_shape(Node& node) {
  const auto dims = input_dims(node, 0), wanted = input_contents(node, 1);
  std::optional<Dims> result;
  if (wanted)
    result = reshaped_dims(node, *wanted, dims);
  else if (const auto count = input_count(node, 1))
    result = unknown_dims(*count);
  set_type(node, 0, input_dtype(node, 0), result);
  set_contents(node, input_contents(node, 0));
}

int flatten_axis(const Node& node, int rank) {
  const std::int64_t axis = node.get_int("axis", 1);
  QUENCH_CHECK(axis >= -rank && axis <= rank, node.where(), ": axis ", axis, " is out of range for rank ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<RtValue> flatten(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const auto sizes = x.sizes();
  const auto middle = sizes.begin() + flatten_axis(node, static_cast<int>(x.dim()));
  const auto multiply = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  return {RtValue(x.reshape({multiply(sizes.begin(), middle), multiply(middle, sizes.end())}), in[0].dtype())};
}

void flatten_shape(Node& node) {
  Dims result(2);
  if (const auto dims = input_dims(node, 0)) {
    const auto axis = static_cast<std::size_t>(flatten_axis(node, static_cast<int>(dims->size())));
    result = {product(*dims, 0, axis), product(*dims, axis, dims->size())};
  }
  set_type(node, 0, input_dtype(node, 0), result);
}

Sizes normalized(const Sizes& axes, int rank, const Node& node) {
  Sizes result;
  for (std::int64_t axis : axes) result.push_back(normalize_axis(axis, rank, node));
  std::sort(result.begin(), result.end());
  QUENCH_CHECK(std::adjacent_find(result.begin(), result.end()) == result.end(), node.where(),
               ": an axis is given twice");
  return result;
}

std::vector<RtValue> squeeze(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  if (in.size() < 2 || in[1].is_none()) return {RtValue(x.squeeze(), in[0].dtype())};
  const Sizes axes = normalized(integers_of(in[1].tensor()), static_cast<int>(x.dim()), node);
  for (std::int64_t axis : axes)
    QUENCH_CHECK(x.size(axis) == 1, "cannot squeeze axis ", axis, ": its size is ", x.size(axis), ", not 1");
  return {RtValue(x.squeeze(axes), in[0].dtype())};
}

std::optional<Dims> squeezed_dims(const Node& node, const Dims& dims) {
  const bool certain = std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_number(); });
  const auto given = input_integers(node, 1);
  const auto count = input_count(node, 1);
  // Which axes go is not known, but perhaps how many.
  if (node.input(1) && !given && count && *count <= dims.size()) return unknown_dims(dims.size() - *count);
  if (node.input(1) ? !given : !certain) return std::nullopt;
  const Sizes axes = given ? normalized(*given, static_cast<int>(dims.size()), node) : Sizes();
  Dims result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool listed = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    const bool removed = node.input(1) ? listed : dims[i].number() == 1;
    if (!removed) result.push_back(dims[i]);
  }
  return result;
}

void squeeze_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  set_type(node, 0, input_dtype(node, 0), dims ? squeezed_dims(node, *dims) : std::nullopt);
  set_contents(node, input_contents(node, 0));
}

std::vector<RtValue> unsqueeze(const Node& node, const Inputs& in, ExecContext&) {
  at::Tensor x = in[0].tensor();
  const Sizes given = integers_of(in[1].tensor());
  for (std::int64_t axis : normalized(given, static_cast<int>(x.dim()) + static_cast<int>(given.size()), node))
    x = x.unsqueeze(axis);
  return {RtValue(x, in[0].dtype())};
}

void unsqueeze_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  const auto given = input_integers(node, 1);
  std::optional<Dims> result;
  if (dims && given) {
    result = dims;
    const int rank = static_cast<int>(dims->size() + given->size());
    for (std::int64_t axis : normalized(*given, rank, node)) result->insert(result->begin() + axis, Dim(1));
  } else if (const auto count = input_count(node, 1); dims && count) {
    result = unknown_dims(dims->size() + *count);
  }
  set_type(node, 0, input_dtype(node, 0), result);
  set_contents(node, input_contents(node, 0));
}

Sizes permutation(const Node& node, int rank) {
  Sizes reversed(static_cast<std::size_t>(rank));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  Sizes order = node.get_ints("perm", reversed);
  QUENCH_CHECK(static_cast<int>(order.size()) == rank, node.where(), ": perm has ", order.size(),
               " entries for an input of rank ", rank);
  normalized(order, rank, node);  // each in range, and none twice
  for (std::int64_t& axis : order) axis += axis < 0 ? rank : 0;
  return order;
}

std::vector<RtValue> transpose(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  return {RtValue(x.permute(permutation(node, static_cast<int>(x.dim()))), in[0].dtype())};
}

void transpose_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  std::optional<Dims> result;
  if (dims) {
    result.emplace();
    for (std::int64_t from : permutation(node, static_cast<int>(dims->size())))
      result->push_back((*dims)[static_cast<std::size_t>(from)]);
  }
  set_type(node, 0, input_dtype(node, 0), result);
}

// Both ways, as NumPy: a 1 in the wanted shape takes the input's dim.
std::vector<RtValue> expand(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  return {RtValue(x.expand(at::infer_size(x.sizes(), integers_of(in[1].tensor()))), in[0].dtype())};
}

void expand_shape(Node& node) {
  const auto dims = input_dims(node, 0), wanted = input_contents(node, 1);
  const auto count = input_count(node, 1);
  std::optional<Dims> result;
  if (dims && wanted)
    result = broadcast(*dims, *wanted, node);
  else if (dims && count)
    result = unknown_dims(std::max(dims->size(), *count));
  set_type(node, 0, input_dtype(node, 0), result);
}

std::vector<RtValue> identity(const Node&, const Inputs& in, ExecContext&) { return {in[0]}; }

}  // namespace

QUENCH_REGISTER_OP("Shape", shape, shape_shape, reads_shape(), "the dims of a tensor")
QUENCH_REGISTER_OP("Size", size, size_shape, reads_shape(), "the number of elements")
QUENCH_REGISTER_OP("Reshape", reshape, reshape_shape, moving({1}), "new dims, same elements in the same order")
QUENCH_REGISTER_OP("Flatten", flatten, flatten_shape, moving({1}), "to two dims, split at an axis")
QUENCH_REGISTER_OP("Squeeze", squeeze, squeeze_shape, moving({1}), "removes dims of size 1")
QUENCH_REGISTER_OP("Unsqueeze", unsqueeze, unsqueeze_shape, moving({1}), "inserts dims of size 1")
QUENCH_REGISTER_OP("Transpose", transpose, transpose_shape, moving({1}), "permutes the dims")
QUENCH_REGISTER_OP("Expand", expand, expand_shape, moving({1}), "repeats along dims of size 1")
QUENCH_REGISTER_OP("Identity", identity, identity_shape, moving({1}), "the input itself")

}  // namespace quench

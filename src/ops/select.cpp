// NonZero, Compress, Unique, ReverseSequence: elements chosen or ordered by the data.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "graph/tensor_types.h"
#include "ops/moving.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// Of a scalar: one column with no rows.
std::vector<RtValue> non_zero(const Node&, const Inputs& in, ExecContext&) {
  return {at::nonzero(widen(in[0].tensor())).t().contiguous()};
}

void non_zero_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  set_type(node, 0, DType::kInt64, Dims{dims ? Dim(static_cast<std::int64_t>(dims->size())) : Dim(), Dim()});
}

// The axis that the node names; without one, x becomes flat.
int axis_or_flat(const Node& node, at::Tensor& x) {
  if (node.has("axis")) return normalize_axis(node.require_int("axis"), static_cast<int>(x.dim()), node);
  x = x.reshape({-1});
  return 0;
}

// A condition shorter than the axis leaves the rest out.
std::vector<RtValue> compress(const Node& node, const Inputs& in, ExecContext&) {
  at::Tensor x = in[0].tensor();
  const int axis = axis_or_flat(node, x);
  const at::Tensor chosen = at::nonzero(in[1].tensor()).reshape({-1});
  return {RtValue(x.index_select(axis, chosen), in[0].dtype())};
}

// Nothing if the elements are taken in a row, whatever the dims.
std::optional<std::size_t> chosen_axis(const Node& node, const Dims& dims) {
  if (!node.has("axis")) return std::nullopt;
  return static_cast<std::size_t>(normalize_axis(node.require_int("axis"), static_cast<int>(dims.size()), node));
}

// Input 0 with `count` slices along the axis, or `count` elements.
void chosen_shape(Node& node, const Dim& count) {
  std::optional<Dims> dims = input_dims(node, 0);
  if (!node.has("axis"))
    dims = Dims{count};
  else if (dims)
    (*dims)[*chosen_axis(node, *dims)] = count;
  set_type(node, 0, input_dtype(node, 0), dims);
}

void compress_shape(Node& node) {
  const auto condition = input_integers(node, 1);
  const auto is_true = [](std::int64_t value) { return value != 0; };
  chosen_shape(node, condition ? Dim(std::count_if(condition->begin(), condition->end(), is_true)) : Dim());
}

// Rows in ascending (lexicographic) order, with the group that each row belongs to.
struct Groups {
  std::vector<std::int64_t> first;  // of each group: its first row
  std::vector<std::int64_t> group;  // of each row
  std::vector<std::int64_t> count;  // of each group
};

Groups group_rows(const at::Tensor& given) {
  // Complex numbers by the real part, then by the imaginary one.
  const at::Tensor rows = given.is_complex() ? at::view_as_real(given.contiguous()).flatten(1) : given;
  const at::Tensor data = ordered(rows).to(rows.is_floating_point() ? at::kDouble : at::kLong).cpu().contiguous();
  const auto count = data.size(0), width = data.size(1);
  Groups groups;
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto sort_by = [&](const auto* values) {
    const auto less = [&](std::int64_t a, std::int64_t b) {
      return std::lexicographical_compare(values + a * width, values + (a + 1) * width, values + b * width,
                                          values + (b + 1) * width);
    };
    std::stable_sort(order.begin(), order.end(), less);
    groups.group.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t row = order[i];
      if (i == 0 || less(order[i - 1], row)) {
        groups.first.push_back(row);
        groups.count.push_back(0);
      }
      groups.group[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(groups.first.size()) - 1;
      ++groups.count.back();
    }
  };
  if (rows.is_floating_point())
    sort_by(data.const_data_ptr<double>());
  else
    sort_by(data.const_data_ptr<std::int64_t>());
  return groups;
}

// The groups in the order in which their first rows come.
Groups by_first_occurrence(const Groups& groups) {
  std::vector<std::size_t> order(groups.first.size()), place(groups.first.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return groups.first[a] < groups.first[b]; });
  Groups result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    result.first.push_back(groups.first[order[i]]);
    result.count.push_back(groups.count[order[i]]);
  }
  for (std::int64_t group : groups.group)
    result.group.push_back(static_cast<std::int64_t>(place[static_cast<std::size_t>(group)]));
  return result;
}

std::vector<RtValue> unique(const Node& node, const Inputs& in, ExecContext&) {
  at::Tensor x = in[0].tensor();
  const int axis = axis_or_flat(node, x);
  const std::int64_t count = x.size(axis);
  const at::Tensor rows = x.movedim(axis, 0).reshape({count, count == 0 ? 1 : x.numel() / count});
  Groups groups = group_rows(rows);
  if (node.get_int("sorted", 1) == 0) groups = by_first_occurrence(groups);
  const at::Tensor first = integer_tensor(groups.first);
  return {RtValue(x.index_select(axis, first.to(x.device())), in[0].dtype()), RtValue(first),
          RtValue(integer_tensor(groups.group)), RtValue(integer_tensor(groups.count))};
}

void unique_shape(Node& node) {
  chosen_shape(node, Dim());
  const std::optional<Dims> dims = input_dims(node, 0);
  Dim all;  // that are compared
  if (dims) {
    const auto axis = chosen_axis(node, *dims);
    all = axis ? (*dims)[*axis] : product(*dims, 0, dims->size());
  }
  set_type(node, 1, DType::kInt64, Dims{Dim()});
  set_type(node, 2, DType::kInt64, Dims{all});
  set_type(node, 3, DType::kInt64, Dims{Dim()});
}

std::vector<RtValue> reverse_sequence(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const int time = normalize_axis(node.get_int("time_axis", 0), static_cast<int>(x.dim()), node);
  const int batch = normalize_axis(node.get_int("batch_axis", 1), static_cast<int>(x.dim()), node);
  QUENCH_CHECK(time != batch, "time_axis and batch_axis are both ", time);
  std::vector<std::int64_t> by_batch(static_cast<std::size_t>(x.dim()), 1), by_time = by_batch;
  by_batch[static_cast<std::size_t>(batch)] = -1;
  by_time[static_cast<std::size_t>(time)] = -1;
  const at::Tensor lengths = in[1].tensor().to(at::kLong).reshape(by_batch);
  const at::Tensor place = at::arange(x.size(time), lengths.options()).reshape(by_time);
  const at::Tensor source = at::where(place.lt(lengths), lengths - 1 - place, place).expand(x.sizes());
  return {RtValue(from_movable(as_movable(x).gather(time, source), x.scalar_type()), in[0].dtype())};
}

}  // namespace

QUENCH_REGISTER_OP("NonZero", non_zero, non_zero_shape, {}, "where the elements are not zero")
QUENCH_REGISTER_OP("Compress", compress, compress_shape, moving(), "the slices where a condition holds")
QUENCH_REGISTER_OP("Unique", unique, unique_shape, moving(), "the distinct elements or slices")
QUENCH_REGISTER_OP("ReverseSequence", reverse_sequence, same_as_input, moving(),
                   "reverses the first elements along time, per sample")

}  // namespace quench

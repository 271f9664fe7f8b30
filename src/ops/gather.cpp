// Gather, GatherElements, GatherND: elements by index. A negative index counts from the end.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/index_rules.h"
#include "ops/moving.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

std::vector<RtValue> gather(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &given = in[1].tensor();
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(x.dim()), node);
  const at::Tensor indices = wrapped_indices(given, x.size(axis));
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().begin() + axis);
  sizes.insert(sizes.end(), given.sizes().begin(), given.sizes().end());
  sizes.insert(sizes.end(), x.sizes().begin() + axis + 1, x.sizes().end());
  const at::Tensor picked = as_movable(x).index_select(axis, indices.reshape({-1})).reshape(sizes);
  return {RtValue(from_movable(picked, x.scalar_type()), in[0].dtype())};
}

// A shape's element: [N, 3, H, W] gathered at 0 is N.
void gather_contents(Node& node, std::size_t axis) {
  const auto contents = input_contents(node, 0);
  const auto indices = input_integers(node, 1);
  if (!contents || !indices || axis != 0) return;
  Dims picked;
  for (std::int64_t index : *indices) {
    const std::int64_t at = index < 0 ? index + static_cast<std::int64_t>(contents->size()) : index;
    if (at < 0 || at >= static_cast<std::int64_t>(contents->size())) return;
    picked.push_back((*contents)[static_cast<std::size_t>(at)]);
  }
  set_contents(node, picked);
}

void gather_shape(Node& node) {
  const auto dims = input_dims(node, 0), indices = input_dims(node, 1);
  if (!dims || !indices) return set_type(node, 0, input_dtype(node, 0), std::nullopt);
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(dims->size()), node);
  Dims result(dims->begin(), dims->begin() + axis);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), dims->begin() + axis + 1, dims->end());
  set_type(node, 0, input_dtype(node, 0), result);
  gather_contents(node, static_cast<std::size_t>(axis));
}

std::vector<RtValue> gather_elements(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(x.dim()), node);
  const at::Tensor indices = wrapped_indices(in[1].tensor(), x.size(axis));
  return {RtValue(from_movable(as_movable(x).gather(axis, indices), x.scalar_type()), in[0].dtype())};
}

void gather_elements_shape(Node& node) { set_type(node, 0, input_dtype(node, 0), input_dims(node, 1)); }

// The last dim of the indices addresses the dims after the batch dims.
std::vector<RtValue> gather_nd(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &indices = in[1].tensor();
  const std::int64_t batch_dims = node.get_int("batch_dims", 0);
  QUENCH_CHECK(batch_dims >= 0 && batch_dims < std::min(x.dim(), indices.dim()), "batch_dims is ", batch_dims,
               ", but the inputs have ranks ", x.dim(), " and ", indices.dim());
  const std::int64_t depth = indices.size(-1);
  QUENCH_CHECK(depth >= 1 && batch_dims + depth <= x.dim(), "indices of ", depth, " numbers after ", batch_dims,
               " batch dims do not fit a tensor of rank ", x.dim());
  c10::List<std::optional<at::Tensor>> index;
  const std::int64_t rank = indices.dim() - 1;
  for (std::int64_t i = 0; i < batch_dims; ++i) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 1);
    sizes[static_cast<std::size_t>(i)] = x.size(i);
    index.push_back(at::arange(x.size(i), indices.options().dtype(at::kLong)).reshape(sizes));
  }
  for (std::int64_t i = 0; i < depth; ++i)
    index.push_back(wrapped_indices(indices.select(-1, i), x.size(batch_dims + i)));
  return {RtValue(from_movable(at::index(as_movable(x), index), x.scalar_type()), in[0].dtype())};
}

void gather_nd_shape(Node& node) {
  const auto dims = input_dims(node, 0), indices = input_dims(node, 1);
  std::optional<Dims> result;
  if (dims && indices && !indices->empty() && indices->back().is_number()) {
    const std::int64_t skipped = node.get_int("batch_dims", 0) + indices->back().number();
    QUENCH_CHECK(skipped <= static_cast<std::int64_t>(dims->size()), node.where(), ": indices address ", skipped,
                 " dims of a tensor of rank ", dims->size());
    result.emplace(indices->begin(), indices->end() - 1);
    result->insert(result->end(), dims->begin() + skipped, dims->end());
  }
  set_type(node, 0, input_dtype(node, 0), result);
}

// An embedding is a Gather on a constant table, one row per word; its channels are the columns.
OpTraits gather_traits() {
  OpTraits traits = moving();
  traits.weight_slot = 0;
  traits.weight_axis = [](const Node&) { return 1; };
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Gather", gather, gather_shape, gather_traits(), "slices along an axis, by index")
QUENCH_REGISTER_OP("GatherElements", gather_elements, gather_elements_shape, moving(),
                   "one element per index, along an axis")
QUENCH_REGISTER_OP("GatherND", gather_nd, gather_nd_shape, moving(), "slices by index tuples")

}  // namespace quench

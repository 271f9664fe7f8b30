// ScatterElements, ScatterND, TensorScatter: a copy of a tensor with elements replaced or combined by index.
#include <ATen/ATen.h>

#include <numeric>

#include "graph/tensor_types.h"
#include "ops/index_rules.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

OpTraits scatter_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

// LibTorch's name of a reduction; empty for none.
std::string reduction_of(const Node& node) {
  const std::string name = node.get_string("reduction", "none");
  if (name == "none") return "";
  if (name == "add") return "sum";
  if (name == "mul") return "prod";
  QUENCH_CHECK(name == "max" || name == "min", "reduction must be none, add, mul, max or min, not '", name, "'");
  return name == "max" ? "amax" : "amin";
}

// x with `updates` at `indices` (of the same shape) along `axis`.
at::Tensor scatter(const at::Tensor& x, int axis, const at::Tensor& indices, const at::Tensor& updates,
                   const std::string& reduction) {
  const c10::ScalarType type = x.scalar_type();
  if (reduction.empty()) return from_movable(as_movable(x).scatter(axis, indices, as_movable(updates)), type);
  if (reduction == "amax" || reduction == "amin")
    return from_ordered(at::scatter_reduce(ordered(x), axis, indices, ordered(updates), reduction), type);
  return narrow(at::scatter_reduce(widen(x), axis, indices, widen(updates), reduction), type);
}

std::vector<RtValue> scatter_elements(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(x.dim()), node);
  const at::Tensor indices = wrapped_indices(in[1].tensor(), x.size(axis));
  return {RtValue(scatter(x, axis, indices, in[2].tensor(), reduction_of(node)), in[0].dtype())};
}

// Index tuples become positions in the flattened leading dims, so that it is a scatter along one axis.
std::vector<RtValue> scatter_nd(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &indices = in[1].tensor(), &updates = in[2].tensor();
  QUENCH_CHECK(indices.dim() > 0 && indices.size(-1) <= x.dim(), "index tuples of ",
               indices.dim() > 0 ? indices.size(-1) : 0, " numbers do not fit a tensor of rank ", x.dim());
  const std::int64_t depth = indices.size(-1);
  const auto sizes = x.sizes();
  const auto multiply = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  at::Tensor position = at::zeros(indices.sizes().slice(0, static_cast<std::size_t>(indices.dim() - 1)),
                                  indices.options().dtype(at::kLong));
  for (std::int64_t i = 0; i < depth; ++i)
    position = position * x.size(i) + wrapped_indices(indices.select(-1, i), x.size(i));
  const std::int64_t rows = multiply(sizes.begin(), sizes.begin() + depth);
  const std::int64_t columns = multiply(sizes.begin() + depth, sizes.end());
  const at::Tensor rows_at = position.reshape({-1, 1}).expand({-1, columns});
  const at::Tensor result =
      scatter(x.reshape({rows, columns}), 0, rows_at, updates.reshape(rows_at.sizes()), reduction_of(node));
  return {RtValue(result.reshape(sizes), in[0].dtype())};
}

// A key or value cache with new entries written at each sample's own position.
std::vector<RtValue> tensor_scatter(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &cache = in[0].tensor(), &update = in[1].tensor();
  const int axis = normalize_axis(node.get_int("axis", -2), static_cast<int>(cache.dim()), node);
  QUENCH_CHECK(axis != 0, "axis must not be the batch dim");
  const std::string mode = node.get_string("mode", "linear");
  QUENCH_CHECK(mode == "linear" || mode == "circular", "mode must be linear or circular, not '", mode, "'");
  const auto options = cache.options().dtype(at::kLong);
  std::vector<std::int64_t> per_sample(static_cast<std::size_t>(cache.dim()), 1), along = per_sample;
  per_sample[0] = -1;
  along[static_cast<std::size_t>(axis)] = -1;
  at::Tensor places = at::arange(update.size(axis), options).reshape(along);
  if (in.size() > 2 && !in[2].is_none()) places = places + in[2].tensor().to(at::kLong).reshape(per_sample);
  if (mode == "circular") places = places.remainder(cache.size(axis));
  const at::Tensor indices = wrapped_indices(places, cache.size(axis)).expand_as(update);
  return {RtValue(scatter(cache, axis, indices, update, ""), in[0].dtype())};
}

}  // namespace

QUENCH_REGISTER_OP("ScatterElements", scatter_elements, same_as_input, scatter_traits(),
                   "replaces or combines single elements, along an axis")
QUENCH_REGISTER_OP("ScatterND", scatter_nd, same_as_input, scatter_traits(),
                   "replaces or combines slices, by index tuples")
QUENCH_REGISTER_OP("TensorScatter", tensor_scatter, same_as_input, scatter_traits(),
                   "writes new entries into a key or value cache")

}  // namespace quench

// Reductions along axes: Reduce*, and ArgMax / ArgMin.
#include <ATen/ATen.h>

#include <limits>
#include <numeric>

#include "graph/tensor_types.h"
#include "ops/moving.h"
#include "ops/number_rules.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Axes = std::vector<std::int64_t>;

OpTraits reduce_traits(bool non_negative, bool keeps_sign, RangeRule range = RangeRule::kOwn) {
  OpTraits traits;
  traits.non_negative = non_negative;
  traits.keeps_sign = keeps_sign;
  traits.range = range;
  traits.host_slots = {1};
  return traits;
}

// All axes where none are given, unless noop_with_empty_axes asks for none.
Axes chosen_axes(const Node& node, const Axes& given, int rank) {
  Axes axes;
  for (std::int64_t axis : given) axes.push_back(normalize_axis(axis, rank, node));
  if (axes.empty() && node.get_int("noop_with_empty_axes", 0) == 0) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

bool keeps_dims(const Node& node) { return node.get_int("keepdims", 1) != 0; }

// The core of a reduction: a function over axes that are not empty. `x` has kernels.
template <auto compute>
std::vector<RtValue> reduce(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& input = in[0].tensor();
  const bool has_axes = in.size() > 1 && !in[1].is_none();
  const Axes axes = chosen_axes(node, has_axes ? integers_of(in[1].tensor()) : Axes(), static_cast<int>(input.dim()));
  return {narrow(compute(widen(input), axes, keeps_dims(node)), input.scalar_type())};
}

// A function that exists for floating-point types only: integers go through double.
at::Tensor as_float(const at::Tensor& x) { return x.is_floating_point() ? x : x.to(at::kDouble); }

// at::sum of an empty list of axes would reduce all of them.
at::Tensor sum(const at::Tensor& x, const Axes& axes, bool keep) {
  return axes.empty() ? x : at::sum(x, axes, keep, x.scalar_type());
}
at::Tensor mean(const at::Tensor& x, const Axes& axes, bool keep) {
  return axes.empty() ? x : at::mean(as_float(x), axes, keep);
}
at::Tensor sum_of_magnitudes(const at::Tensor& x, const Axes& axes, bool keep) { return sum(at::abs(x), axes, keep); }
at::Tensor sum_of_squares(const at::Tensor& x, const Axes& axes, bool keep) { return sum(at::square(x), axes, keep); }
at::Tensor norm(const at::Tensor& x, const Axes& axes, bool keep) {
  return at::sqrt(sum(at::square(as_float(x)), axes, keep));
}
at::Tensor log_of_sum(const at::Tensor& x, const Axes& axes, bool keep) {
  return at::log(sum(as_float(x), axes, keep));
}
at::Tensor log_of_sum_of_exponentials(const at::Tensor& x, const Axes& axes, bool keep) {
  return axes.empty() ? x : at::logsumexp(as_float(x), axes, keep);
}
at::Tensor product_of_all(const at::Tensor& x, const Axes& axes, bool keep) {
  at::Tensor result = x;
  for (std::int64_t axis : axes) result = at::prod(result, axis, true, x.scalar_type());
  return keep ? result : result.squeeze(axes);
}

// The greatest of no elements is the least of its type, and the other way round.
at::Tensor limit_of(const at::Tensor& x, const Axes& axes, bool keep, bool greatest) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  for (std::int64_t axis : axes) sizes[static_cast<std::size_t>(axis)] = 1;
  const double infinity = std::numeric_limits<double>::infinity();
  at::Tensor result;
  if (x.is_floating_point()) {
    result = at::full(sizes, greatest ? -infinity : infinity, x.options());
  } else if (x.scalar_type() == at::kBool) {
    result = at::full(sizes, !greatest, x.options());
  } else {
    const int bits = static_cast<int>(x.element_size()) * 8;
    const bool is_byte = x.scalar_type() == at::kByte;
    const auto low = is_byte ? 0 : std::numeric_limits<std::int64_t>::min() >> (64 - bits);
    result = at::full(sizes, greatest ? low : is_byte ? 255 : ~low, x.options());
  }
  return keep ? result : result.squeeze(axes);
}

template <bool greatest>
std::vector<RtValue> extreme(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& input = in[0].tensor();
  const bool has_axes = in.size() > 1 && !in[1].is_none();
  const Axes axes = chosen_axes(node, has_axes ? integers_of(in[1].tensor()) : Axes(), static_cast<int>(input.dim()));
  if (axes.empty()) return {in[0]};
  const at::Tensor x = ordered(input);
  bool is_empty = false;
  for (std::int64_t axis : axes) is_empty = is_empty || x.size(axis) == 0;
  const bool keep = keeps_dims(node);
  const at::Tensor result = is_empty   ? limit_of(x, axes, keep, greatest)
                            : greatest ? at::amax(x, axes, keep)
                                       : at::amin(x, axes, keep);
  return {from_ordered(result, input.scalar_type())};
}

template <bool greatest>
std::vector<RtValue> arg_extreme(const Node& node, const Inputs& in, ExecContext&) {
  at::Tensor x = ordered(in[0].tensor());
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(x.dim()), node);
  const bool last = node.get_int("select_last_index", 0) != 0;
  if (last) x = x.flip({axis});
  const bool keep = keeps_dims(node);
  const at::Tensor found = greatest ? at::argmax(x, axis, keep) : at::argmin(x, axis, keep);
  return {last ? x.size(axis) - 1 - found : found};
}

Dims reduced_dims(const Dims& dims, const Axes& axes, bool keep) {
  Dims result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!is_reduced) result.push_back(dims[i]);
    if (is_reduced && keep) result.emplace_back(1);
  }
  return result;
}

// How many dims are left where only the number of axes is known.
std::optional<Dims> dims_left(const Node& node, std::size_t rank) {
  if (keeps_dims(node)) return unknown_dims(rank);
  const auto count = input_count(node, 1);
  if (!count || *count > rank) return std::nullopt;
  if (*count == 0) return unknown_dims(node.get_int("noop_with_empty_axes", 0) != 0 ? rank : 0);
  return unknown_dims(rank - *count);
}

void reduce_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  const auto given = node.input(1) ? input_integers(node, 1) : Axes();
  std::optional<Dims> result;
  if (dims && given)
    result = reduced_dims(*dims, chosen_axes(node, *given, static_cast<int>(dims->size())), keeps_dims(node));
  else if (dims)
    result = dims_left(node, dims->size());
  set_type(node, 0, input_dtype(node, 0), result);
}

void product_shape(Node& node) {
  reduce_shape(node);
  const auto contents = input_contents(node, 0);
  const auto dims = input_dims(node, 0);
  if (contents && dims && dims->size() == 1 && (!node.input(1) || input_integer(node, 1)))
    set_contents(node, Dims{quench::product(*contents, 0, contents->size())});
}

void arg_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  std::optional<Dims> result;
  if (dims) {
    const Axes axes = {normalize_axis(node.get_int("axis", 0), static_cast<int>(dims->size()), node)};
    result = reduced_dims(*dims, axes, keeps_dims(node));
  }
  set_type(node, 0, DType::kInt64, result);
}

}  // namespace

QUENCH_REGISTER_OP("ReduceSum", reduce<sum>, reduce_shape, reduce_traits(false, true), "sum along axes")
QUENCH_REGISTER_OP("ReduceMean", reduce<mean>, reduce_shape, reduce_traits(false, true, RangeRule::kPasses),
                   "mean along axes")
QUENCH_REGISTER_OP("ReduceMax", extreme<true>, reduce_shape, moving({1}), "greatest along axes")
QUENCH_REGISTER_OP("ReduceMin", extreme<false>, reduce_shape, moving({1}), "least along axes")
QUENCH_REGISTER_OP("ReduceProd", reduce<product_of_all>, product_shape, reduce_traits(false, true),
                   "product along axes")
QUENCH_REGISTER_OP("ReduceL1", reduce<sum_of_magnitudes>, reduce_shape, reduce_traits(true, true),
                   "sum of magnitudes along axes")
QUENCH_REGISTER_OP("ReduceL2", reduce<norm>, reduce_shape, reduce_traits(true, true), "Euclidean norm along axes")
QUENCH_REGISTER_OP("ReduceSumSquare", reduce<sum_of_squares>, reduce_shape, reduce_traits(true, true),
                   "sum of squares along axes")
QUENCH_REGISTER_OP("ReduceLogSum", reduce<log_of_sum>, reduce_shape, reduce_traits(false, false),
                   "logarithm of the sum along axes")
QUENCH_REGISTER_OP("ReduceLogSumExp", reduce<log_of_sum_of_exponentials>, reduce_shape, reduce_traits(false, false),
                   "logarithm of the sum of exponentials along axes")
QUENCH_REGISTER_OP("ArgMax", arg_extreme<true>, arg_shape, {}, "where the greatest element along an axis is")
QUENCH_REGISTER_OP("ArgMin", arg_extreme<false>, arg_shape, {}, "where the least element along an axis is")

}  // namespace quench

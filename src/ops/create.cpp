// Tensors made from numbers or shapes: ConstantOfShape, Range, EyeLike, OneHot, Trilu.
#include <ATen/ATen.h>

#include <cmath>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/convert.h"
#include "ops/number_rules.h"
#include "ops/number_types.h"
#include "ops/reads_on_host.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// What ConstantOfShape repeats: `value`, else a float zero.
RtValue fill_value(const Node& node) {
  if (!node.has("value")) return {at::zeros({1})};
  const TensorAttr& value = node.require_tensor("value");
  QUENCH_CHECK(value.tensor && value.tensor->numel() == 1, node.where(), ": 'value' must have one element");
  return {*value.tensor, value.dtype};
}

std::vector<RtValue> constant_of_shape(const Node& node, const Inputs& in, ExecContext& context) {
  const RtValue value = fill_value(node);
  const at::Tensor one = value.tensor().to(context.device()).reshape({});
  return {RtValue(one.expand(integers_of(in[0].tensor())), value.dtype())};
}

void constant_of_shape_shape(Node& node) {
  const RtValue value = fill_value(node);
  const auto contents = input_contents(node, 0);
  std::optional<Dims> dims = contents;
  if (const auto count = input_count(node, 0); !dims && count) dims = unknown_dims(*count);
  set_type(node, 0, value.dtype(), dims);
  if (!is_integer(value.dtype()) || !contents || contents->size() != 1 || !(*contents)[0].is_number()) return;
  constexpr std::int64_t kSmall = 64;
  const std::int64_t count = (*contents)[0].number();
  if (count >= 0 && count <= kSmall)
    set_contents(node, Dims(static_cast<std::size_t>(count), integers_of(value.tensor())[0]));
}

// In unsigned numbers: the distance of two of them may not fit into a signed one.
std::int64_t range_count(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit);
  const auto step = static_cast<std::uint64_t>(delta);
  const std::uint64_t count = delta > 0 ? (to - from - 1) / step + 1 : (from - to - 1) / (0 - step) + 1;
  QUENCH_CHECK(count <= INT64_MAX, "from ", start, " to ", limit, " by ", delta, " are too many numbers");
  return static_cast<std::int64_t>(count);
}

std::int64_t range_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  QUENCH_CHECK(count <= 0x1p62, "from ", start, " to ", limit, " by ", delta, " are too many numbers");
  return count > 0.0 ? std::llround(count) : 0;
}

std::vector<RtValue> range(const Node&, const Inputs& in, ExecContext& context) {
  const c10::ScalarType type = in[0].tensor().scalar_type();
  const auto options = at::TensorOptions(context.device());
  if (!in[0].tensor().is_floating_point()) {
    const auto number = [&](std::size_t slot) { return in[slot].tensor().to(at::kLong).item<std::int64_t>(); };
    const std::int64_t start = number(0), limit = number(1), delta = number(2);
    QUENCH_CHECK(delta != 0, "a step of 0");
    const at::Tensor numbers = at::arange(range_count(start, limit, delta), options.dtype(at::kLong));
    return {narrow(numbers.mul(delta).add(start), type)};
  }
  const auto number = [&](std::size_t slot) { return in[slot].tensor().to(at::kDouble).item<double>(); };
  const double start = number(0), delta = number(2);
  QUENCH_CHECK(delta != 0.0, "a step of 0");
  return {at::arange(range_count(start, number(1), delta), options.dtype(at::kDouble)).mul(delta).add(start).to(type)};
}

Dim float_range_dim(const Node& node) {
  const auto start = input_numbers(node, 0), limit = input_numbers(node, 1), delta = input_numbers(node, 2);
  const auto is_one = [](const auto& numbers) { return numbers && numbers->size() == 1; };
  if (!is_one(start) || !is_one(limit) || !is_one(delta) || delta->front() == 0.0) return {};
  return range_count(start->front(), limit->front(), delta->front());
}

void range_shape(Node& node) {
  if (is_floating(input_dtype(node, 0))) return set_type(node, 0, input_dtype(node, 0), Dims{float_range_dim(node)});
  const auto start = input_integer(node, 0), limit = input_integer(node, 1), delta = input_integer(node, 2);
  Dim count;
  if (start && limit && delta && *delta != 0) {
    count = range_count(*start, *limit, *delta);
  } else if (start == 0 && delta == 1) {
    const auto contents = input_contents(node, 1);
    if (contents && contents->size() == 1) count = contents->front();
  }
  set_type(node, 0, input_dtype(node, 0), Dims{count});
}

DType wanted_dtype(const Node& node, DType fallback) {
  return node.has("dtype") ? dtype_from_onnx(node.require_int("dtype")) : fallback;
}

std::vector<RtValue> eye_like(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  QUENCH_CHECK(x.dim() == 2, "the input must have rank 2, not ", x.dim());
  const at::Tensor rows = at::arange(x.size(0), x.options().dtype(at::kLong)).unsqueeze(1);
  const at::Tensor columns = at::arange(x.size(1), x.options().dtype(at::kLong)).unsqueeze(0);
  const at::Tensor diagonal = at::eq(columns - rows, node.get_int("k", 0));
  return {convert(RtValue(diagonal), wanted_dtype(node, in[0].dtype()))};
}

void eye_like_shape(Node& node) { set_type(node, 0, wanted_dtype(node, input_dtype(node, 0)), input_dims(node, 0)); }

// An index outside -depth..depth-1 gives a row of off values.
std::vector<RtValue> one_hot(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor indices = decode(in[0]).to(at::kLong);
  const std::int64_t depth = decode(in[1]).to(at::kLong).reshape({-1})[0].item<std::int64_t>();
  const int axis = normalize_axis(node.get_int("axis", -1), static_cast<int>(indices.dim()) + 1, node);
  const at::Tensor wrapped = at::where(indices.lt(0), indices + depth, indices).unsqueeze(axis);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(indices.dim()) + 1, 1);
  sizes[static_cast<std::size_t>(axis)] = depth;
  const at::Tensor hot = wrapped.eq(at::arange(depth, indices.options()).reshape(sizes));
  const at::Tensor& values = in[2].tensor();
  return {RtValue(at::where(hot, values.select(0, 1), values.select(0, 0)), in[2].dtype())};
}

void one_hot_shape(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  if (dims) {
    const int axis = normalize_axis(node.get_int("axis", -1), static_cast<int>(dims->size()) + 1, node);
    const auto depth = input_numbers(node, 1);  // of any type
    const bool known = depth && depth->size() == 1 && std::abs(depth->front()) < 0x1p53;
    dims->insert(dims->begin() + axis, known ? Dim(static_cast<std::int64_t>(depth->front())) : Dim());
  }
  set_type(node, 0, input_dtype(node, 2), dims);
}

std::vector<RtValue> trilu(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  std::int64_t diagonal = 0;
  if (given(in, 1)) diagonal = integer_at(in, 1);
  const at::Tensor movable = as_movable(x);
  const at::Tensor result = node.get_int("upper", 1) != 0 ? at::triu(movable, diagonal) : at::tril(movable, diagonal);
  return {RtValue(from_movable(result, x.scalar_type()), in[0].dtype())};
}

OpTraits trilu_traits() {
  OpTraits traits = reads_on_host({1});
  traits.keeps_sign = true;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("ConstantOfShape", constant_of_shape, constant_of_shape_shape, reads_on_host({0}),
                   "one value, repeated to a shape")
QUENCH_REGISTER_OP("Range", range, range_shape, reads_on_host({0, 1, 2}), "from start to limit by steps")
QUENCH_REGISTER_OP("EyeLike", eye_like, eye_like_shape, {}, "ones on a diagonal, in the shape of the input")
QUENCH_REGISTER_OP("OneHot", one_hot, one_hot_shape, reads_on_host({1}), "on at the index, off elsewhere")
QUENCH_REGISTER_OP("Trilu", trilu, same_as_input, trilu_traits(), "the upper or lower triangle")

}  // namespace quench

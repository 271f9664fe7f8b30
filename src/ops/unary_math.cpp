// Element-wise functions of one input: sign, rounding, powers, logarithms, trigonometry; running sums.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

OpTraits traits_with(bool non_negative, bool keeps_sign) {
  OpTraits traits;
  traits.non_negative = non_negative;
  traits.keeps_sign = keeps_sign;
  return traits;
}

OpTraits fixed_range(double low, double high) {
  OpTraits traits;
  traits.range = RangeRule::kFixed;
  traits.fixed_min = low;
  traits.fixed_max = high;
  return traits;
}

template <auto compute>
std::vector<RtValue> unary(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  if (has_kernels(x.scalar_type())) return {compute(x)};
  return {narrow(compute(widen(x)), x.scalar_type())};
}

at::Tensor neg(const at::Tensor& x) { return at::neg(x); }
at::Tensor reciprocal(const at::Tensor& x) { return at::reciprocal(x); }
at::Tensor square_root(const at::Tensor& x) { return at::sqrt(x); }
at::Tensor exponential(const at::Tensor& x) { return at::exp(x); }
at::Tensor logarithm(const at::Tensor& x) { return at::log(x); }
at::Tensor floor_of(const at::Tensor& x) { return at::floor(x); }
at::Tensor ceil_of(const at::Tensor& x) { return at::ceil(x); }
at::Tensor round_of(const at::Tensor& x) { return at::round(x); }  // ties to even
at::Tensor sine(const at::Tensor& x) { return at::sin(x); }
at::Tensor cosine(const at::Tensor& x) { return at::cos(x); }
at::Tensor tangent(const at::Tensor& x) { return at::tan(x); }
at::Tensor arc_sine(const at::Tensor& x) { return at::asin(x); }
at::Tensor arc_cosine(const at::Tensor& x) { return at::acos(x); }
at::Tensor arc_tangent(const at::Tensor& x) { return at::atan(x); }
at::Tensor sinh_of(const at::Tensor& x) { return at::sinh(x); }
at::Tensor cosh_of(const at::Tensor& x) { return at::cosh(x); }
at::Tensor asinh_of(const at::Tensor& x) { return at::asinh(x); }
at::Tensor acosh_of(const at::Tensor& x) { return at::acosh(x); }
at::Tensor atanh_of(const at::Tensor& x) { return at::atanh(x); }
at::Tensor bitwise_not(const at::Tensor& x) { return at::bitwise_not(x); }

// Unsigned numbers have no sign to take off; uint64 would be misread as negative.
std::vector<RtValue> absolute(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  if (!is_signed(in[0].dtype())) return {in[0]};
  return {narrow(at::abs(widen(x)), x.scalar_type())};
}

std::vector<RtValue> sign(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const at::Tensor wide = widen(x);
  const at::Tensor result = is_signed(in[0].dtype()) ? at::sign(wide) : wide.ne(0).to(wide.scalar_type());
  return {narrow(result, x.scalar_type())};
}

std::vector<RtValue> is_nan(const Node&, const Inputs& in, ExecContext&) { return {at::isnan(widen(in[0].tensor()))}; }

std::vector<RtValue> is_inf(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor x = widen(in[0].tensor());
  const bool negative = node.get_int("detect_negative", 1) != 0;
  const bool positive = node.get_int("detect_positive", 1) != 0;
  if (negative && positive) return {at::isinf(x)};
  if (negative) return {at::isneginf(x)};
  return {positive ? at::isposinf(x) : at::zeros_like(x, at::kBool)};
}

enum class Running : std::uint8_t { kSum, kProduct };

// CumSum, CumProd. Exclusive: each result leaves its own element out, so the first is the neutral one.
template <Running kind>
std::vector<RtValue> cumulate(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& input = in[0].tensor();
  at::Tensor x = widen(input);
  const std::vector<std::int64_t> axes = integers_of(in[1].tensor());
  QUENCH_CHECK(axes.size() == 1, "the axis must be one number, ", axes.size(), " were given");
  const int axis = normalize_axis(axes[0], static_cast<int>(x.dim()), node);
  const bool reverse = node.get_int("reverse", 0) != 0;
  if (reverse) x = x.flip({axis});
  const bool is_sum = kind == Running::kSum;
  at::Tensor result = is_sum ? at::cumsum(x, axis, x.scalar_type()) : at::cumprod(x, axis, x.scalar_type());
  if (node.get_int("exclusive", 0) != 0 && x.size(axis) > 0) {
    const at::Tensor first = at::full_like(x.narrow(axis, 0, 1), is_sum ? 0 : 1);
    result = at::cat({first, result.narrow(axis, 0, x.size(axis) - 1)}, axis);
  }
  if (reverse) result = result.flip({axis});
  return {narrow(result, input.scalar_type())};
}

void negated_shape(Node& node) {
  same_as_input(node);
  std::optional<Dims> contents = input_contents(node, 0);
  if (!contents) return;
  for (Dim& dim : *contents) dim = dim.is_number() && dim.number() != INT64_MIN ? Dim(-dim.number()) : Dim();
  set_contents(node, contents);
}

void to_bool(Node& node) { set_type(node, 0, DType::kBool, input_dims(node, 0)); }

OpTraits cumulative_traits() {
  OpTraits traits = traits_with(false, true);
  traits.host_slots = {1};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Neg", unary<neg>, negated_shape, {}, "-x")
QUENCH_REGISTER_OP("Abs", absolute, same_as_input, traits_with(true, true), "|x|")
QUENCH_REGISTER_OP("Sign", sign, same_as_input, fixed_range(-1, 1), "-1, 0 or 1")
QUENCH_REGISTER_OP("Reciprocal", unary<reciprocal>, same_as_input, traits_with(false, true), "1 / x")
QUENCH_REGISTER_OP("Sqrt", unary<square_root>, same_as_input, traits_with(true, true), "square root")
QUENCH_REGISTER_OP("Exp", unary<exponential>, same_as_input, traits_with(true, true), "e to the power of x")
QUENCH_REGISTER_OP("Log", unary<logarithm>, same_as_input, {}, "natural logarithm")
QUENCH_REGISTER_OP("Floor", unary<floor_of>, same_as_input, traits_with(false, true), "rounds down")
QUENCH_REGISTER_OP("Ceil", unary<ceil_of>, same_as_input, traits_with(false, true), "rounds up")
QUENCH_REGISTER_OP("Round", unary<round_of>, same_as_input, traits_with(false, true), "nearest, ties to even")
QUENCH_REGISTER_OP("Sin", unary<sine>, same_as_input, fixed_range(-1, 1), "sine")
QUENCH_REGISTER_OP("Cos", unary<cosine>, same_as_input, fixed_range(-1, 1), "cosine")
QUENCH_REGISTER_OP("Tan", unary<tangent>, same_as_input, {}, "tangent")
QUENCH_REGISTER_OP("Asin", unary<arc_sine>, same_as_input, {}, "arc sine")
QUENCH_REGISTER_OP("Acos", unary<arc_cosine>, same_as_input, traits_with(true, true), "arc cosine")
QUENCH_REGISTER_OP("Atan", unary<arc_tangent>, same_as_input, traits_with(false, true), "arc tangent")
QUENCH_REGISTER_OP("Sinh", unary<sinh_of>, same_as_input, traits_with(false, true), "hyperbolic sine")
QUENCH_REGISTER_OP("Cosh", unary<cosh_of>, same_as_input, traits_with(true, true), "hyperbolic cosine")
QUENCH_REGISTER_OP("Asinh", unary<asinh_of>, same_as_input, traits_with(false, true), "inverse hyperbolic sine")
QUENCH_REGISTER_OP("Acosh", unary<acosh_of>, same_as_input, traits_with(true, true), "inverse hyperbolic cosine")
QUENCH_REGISTER_OP("Atanh", unary<atanh_of>, same_as_input, traits_with(false, true), "inverse hyperbolic tangent")
QUENCH_REGISTER_OP("BitwiseNot", unary<bitwise_not>, same_as_input, {}, "~x")
QUENCH_REGISTER_OP("IsNaN", is_nan, to_bool, {}, "whether x is not a number")
QUENCH_REGISTER_OP("IsInf", is_inf, to_bool, {}, "whether x is infinite")
QUENCH_REGISTER_OP("CumSum", cumulate<Running::kSum>, same_as_input, cumulative_traits(), "running sum along an axis")
QUENCH_REGISTER_OP("CumProd", cumulate<Running::kProduct>, same_as_input, cumulative_traits(),
                   "running product along an axis")

}  // namespace quench

// Functions of LibTorch that ONNX has no operator for, composed of those that it has.
#include <ATen/ATen.h>

#include <numbers>

#include "import/aten.h"

namespace quench {
namespace {

Values map_expm1(AtenCall& call) {
  Value& x = call.cast(call.tensor("self"), call.dtype());
  return {&call.make("Sub", {&call.aux("Exp", {&x}), &call.scalar(1.0, call.dtype())})};
}

Values map_log1p(AtenCall& call) {
  Value& x = call.cast(call.tensor("self"), call.dtype());
  return {&call.make("Log", {&call.aux("Add", {&x, &call.scalar(1.0, call.dtype())})})};
}

Values map_log2(AtenCall& call) {
  Value& x = call.cast(call.tensor("self"), call.dtype());
  return {&call.make("Mul", {&call.aux("Log", {&x}), &call.scalar(std::numbers::log2e, call.dtype())})};
}

Values map_log10(AtenCall& call) {
  Value& x = call.cast(call.tensor("self"), call.dtype());
  return {&call.make("Mul", {&call.aux("Log", {&x}), &call.scalar(std::numbers::log10e, call.dtype())})};
}

Values map_exp2(AtenCall& call) {
  return {&call.make("Pow", {&call.scalar(2.0, call.dtype()), &call.cast(call.tensor("self"), call.dtype())})};
}

Values map_erfc(AtenCall& call) {
  Value& x = call.cast(call.tensor("self"), call.dtype());
  return {&call.make("Sub", {&call.scalar(1.0, call.dtype()), &call.aux("Erf", {&x})})};
}

// Towards zero.
Values map_trunc(AtenCall& call) {
  Value& x = call.tensor("self");
  if (is_integer(x.dtype())) return {&x};
  return {&call.make("Mul", {&call.aux("Sign", {&x}), &call.aux("Floor", {&call.aux("Abs", {&x})})})};
}

Values map_isfinite(AtenCall& call) {
  Value& x = call.tensor("self");
  return {&call.make("Not", {&call.aux("Or", {&call.aux("IsNaN", {&x}), &call.aux("IsInf", {&x})})})};
}

// The angle of (x, y): the arc tangent of y / x, and half a turn more, with y's sign, where x is negative. The quotient
// of two zeros is no number, and the angle 0 or half a turn.
Values map_atan2(AtenCall& call) {
  const DType type = call.dtype();
  Value &y = call.operand("self", type), &x = call.operand("other", type), &zero = call.scalar(0.0, type);
  Value& half_turn = call.scalar(std::numbers::pi, type);
  Value& left = call.aux("Less", {&x, &zero});
  Value& signed_turn = call.aux("Where", {&call.aux("Less", {&y, &zero}), &call.aux("Neg", {&half_turn}), &half_turn});
  Value& turn = call.aux("Where", {&left, &signed_turn, &zero});
  Value& slope = call.aux("Where", {&call.aux("Equal", {&y, &zero}), &zero, &call.aux("Div", {&y, &x})});
  return {&call.make("Add", {&call.aux("Atan", {&slope}), &turn})};
}

Value& magnitude(AtenCall& call, double order, Value& x, const std::vector<std::int64_t>& axes) {
  QUENCH_CHECK(order == 1.0 || order == 2.0, call.where(), ": only the distances 1 and 2, not ", order);
  return call.make(order == 1.0 ? "ReduceL1" : "ReduceL2", {&x, &call.integers_constant(axes)},
                   {{"keepdims", std::int64_t{0}}});
}

// Of every row of x1 to every row of x2.
Values map_cdist(AtenCall& call) {
  Value& left = call.aux("Unsqueeze", {&call.tensor("x1"), &call.integers_constant({-2})});
  Value& right = call.aux("Unsqueeze", {&call.tensor("x2"), &call.integers_constant({-3})});
  return {&magnitude(call, call.real("p", 2.0), call.aux("Sub", {&left, &right}), {-1})};
}

Values map_shrink(AtenCall& call) {
  const double lambda = call.real("lambd", 0.5);
  return {&call.make("Shrink", {&call.tensor("self")},
                     {{"lambd", lambda}, {"bias", call.kind() == "softshrink" ? lambda : 0.0}})};
}

}  // namespace

QUENCH_REGISTER_ATEN("expm1", map_expm1, "Exp, Sub")
QUENCH_REGISTER_ATEN("log1p", map_log1p, "Add, Log")
QUENCH_REGISTER_ATEN("log2", map_log2, "Log, Mul")
QUENCH_REGISTER_ATEN("log10", map_log10, "Log, Mul")
QUENCH_REGISTER_ATEN("exp2", map_exp2, "Pow")
QUENCH_REGISTER_ATEN("erfc", map_erfc, "Erf, Sub")
QUENCH_REGISTER_ATEN("trunc", map_trunc, "Abs, Floor, Sign, Mul")
QUENCH_REGISTER_ATEN("isfinite", map_isfinite, "IsNaN, IsInf, Or, Not")
QUENCH_REGISTER_ATEN("atan2", map_atan2, "Div, Atan, Where, Add")
QUENCH_REGISTER_ATEN("_cdist_forward", map_cdist, "Sub, ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("cdist", map_cdist, "Sub, ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("hardshrink", map_shrink, "Shrink")
QUENCH_REGISTER_ATEN("softshrink", map_shrink, "Shrink")

}  // namespace quench

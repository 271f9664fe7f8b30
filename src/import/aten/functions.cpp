// Functions of LibTorch that ONNX has no operator for, composed from those it has.
#include <ATen/ATen.h>

#include <limits>
#include <numbers>

#include "import/aten/aten.h"

namespace quench {
namespace {

// exp(x) - 1 loses the digits of a small x, so that within -1..1 it is 2 t / (1 - t) with t = tanh(x / 2), the same
// (multiply by cosh(x / 2)), which loses none.
Values map_expm1(AtenCall& call) {
  Value &x = call.cast(call.tensor("self"), call.dtype()), &one = call.scalar(1.0, call.dtype());
  Value& t = call.aux("Tanh", {&call.aux("Mul", {&x, &call.scalar(0.5, call.dtype())})});
  Value& near_zero = call.aux("Div", {&call.aux("Add", {&t, &t}), &call.aux("Sub", {&one, &t})});
  Value& elsewhere = call.aux("Sub", {&call.aux("Exp", {&x}), &one});
  return {&call.make("Where", {&call.aux("Less", {&call.aux("Abs", {&x}), &one}), &near_zero, &elsewhere})};
}

// log(u) with u = 1 + x loses the digits of a small x, and x log(u) / (u - 1) does not: Goldberg, "What every computer
// scientist should know about floating-point arithmetic", theorem 4 (Kahan's). Where u = x, x is large or infinite.
Values map_log1p(AtenCall& call) {
  Value &x = call.cast(call.tensor("self"), call.dtype()), &one = call.scalar(1.0, call.dtype());
  Value& u = call.aux("Add", {&x, &one});
  Value& log = call.aux("Log", {&u});
  Value& corrected = call.aux("Mul", {&x, &call.aux("Div", {&log, &call.aux("Sub", {&u, &one})})});
  Value& not_small = call.aux("Where", {&call.aux("Equal", {&u, &x}), &log, &corrected});
  return {&call.make("Where", {&call.aux("Equal", {&u, &one}), &x, &not_small})};
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

// Whether the sign bit is set, also of a zero: its reciprocal is -inf.
Value& has_minus(AtenCall& call, Value& x) {
  Value& zero = call.scalar(0.0, x.dtype());
  return call.aux("Or", {&call.aux("Less", {&x, &zero}), &call.aux("Less", {&call.aux("Reciprocal", {&x}), &zero})});
}

// y / x; of two zeros y, and of two infinities what their signs give: their quotients are NaN.
Value& slope_of(AtenCall& call, Value& y, Value& x) {
  Value& zero = call.scalar(0.0, x.dtype());
  Value& zeros = call.aux("And", {&call.aux("Equal", {&y, &zero}), &call.aux("Equal", {&x, &zero})});
  Value& infinities = call.aux("And", {&call.aux("IsInf", {&y}), &call.aux("IsInf", {&x})});
  Value& signs = call.aux("Mul", {&call.aux("Sign", {&y}), &call.aux("Sign", {&x})});
  Value& slope = call.aux("Where", {&infinities, &signs, &call.aux("Div", {&y, &x})});
  return call.aux("Where", {&zeros, &y, &slope});
}

// The angle of (x, y): the arc tangent of y / x, and half a turn more, with y's sign, where x is negative.
Values map_atan2(AtenCall& call) {
  const DType type = call.dtype();
  Value &y = call.operand("self", type), &x = call.operand("other", type);
  Value& half_turn = call.scalar(std::numbers::pi, type);
  Value& turn = call.aux("Where", {&has_minus(call, y), &call.aux("Neg", {&half_turn}), &half_turn});
  Value& right = call.aux("Atan", {&slope_of(call, y, x)});
  return {&call.make("Where", {&has_minus(call, x), &call.aux("Add", {&right, &turn}), &right})};
}

Values map_shrink(AtenCall& call) {
  const double lambda = call.real("lambd", 0.5);
  return {&call.make("Shrink", {&call.tensor("self")},
                     {{"lambd", lambda}, {"bias", call.kind() == "softshrink" ? lambda : 0.0}})};
}

Values map_hypot(AtenCall& call) {
  Value &a = call.operand("self", call.dtype()), &b = call.operand("other", call.dtype());
  return {&call.make("Sqrt", {&call.aux("Add", {&call.aux("Mul", {&a, &a}), &call.aux("Mul", {&b, &b})})})};
}

// max + log(1 + exp(-|a - b|)), which overflows nowhere.
Values map_logaddexp(AtenCall& call) {
  Value &a = call.operand("self", call.dtype()), &b = call.operand("other", call.dtype());
  Value& distance = call.aux("Abs", {&call.aux("Sub", {&a, &b})});
  Value& rest = call.aux("Softplus", {&call.aux("Neg", {&distance})});
  return {&call.make("Add", {&call.aux("Max", {&a, &b}), &rest})};
}

// log(x / (1 - x))
Values map_logit(AtenCall& call) {
  Value *x = &call.cast(call.tensor("self"), call.dtype()), &one = call.scalar(1.0, call.dtype());
  if (const double eps = call.real("eps", -1.0); eps >= 0.0)
    x = &call.aux("Clip", {x, &call.scalar(eps, call.dtype()), &call.scalar(1.0 - eps, call.dtype())});
  return {&call.make("Log", {&call.aux("Div", {x, &call.aux("Sub", {&one, x})})})};
}

Values map_nan_to_num(AtenCall& call) {
  Value& x = call.tensor("self");
  if (!is_floating(x.dtype())) return {&x};
  QUENCH_CHECK(x.dtype() == DType::kFloat || call.has("posinf"), call.where(),
               ": without given limits only float is supported");
  const double most = std::numeric_limits<float>::max();
  Value& numbers = call.aux("Where", {&call.aux("IsNaN", {&x}), &call.scalar(call.real("nan", 0.0), x.dtype()), &x});
  const auto replaced = [&](Value& value, bool high, double limit) -> Value& {
    Value& infinite = call.aux("IsInf", {&value},
                               {{"detect_positive", std::int64_t{high}}, {"detect_negative", std::int64_t{!high}}});
    return call.make("Where", {&infinite, &call.scalar(limit, x.dtype()), &value});
  };
  Value& bounded = replaced(numbers, true, call.real("posinf", most));
  return {&replaced(bounded, false, call.real("neginf", -most))};
}

Values map_frac(AtenCall& call) { return {&call.make("Sub", {&call.tensor("self"), map_trunc(call).at(0)})}; }

Values map_sgn(AtenCall& call) { return {&call.make("Sign", {&call.tensor("self")})}; }

// In evaluation the slope is the middle of those that training draws from.
Values map_rrelu(AtenCall& call) {
  QUENCH_CHECK(!call.flag("training"), call.where(), ": training has no counterpart");
  const double slope = (call.real("lower", 0.125) + call.real("upper", 1.0 / 3)) / 2;
  return {&call.make("LeakyRelu", {&call.tensor("self")}, {{"alpha", slope}})};
}

// Whole channels: the identity outside of training.
Values map_channel_dropout(AtenCall& call) {
  QUENCH_CHECK(!call.flag("train"), call.where(), ": dropping whole channels in training has no counterpart");
  return {&call.tensor(call.has("input") ? "input" : "self")};
}

}  // namespace

QUENCH_REGISTER_ATEN("expm1", map_expm1, "Tanh, Div, Exp, Sub, Where")
QUENCH_REGISTER_ATEN("log1p", map_log1p, "Add, Log, Div, Mul, Where")
QUENCH_REGISTER_ATEN("log2", map_log2, "Log, Mul")
QUENCH_REGISTER_ATEN("log10", map_log10, "Log, Mul")
QUENCH_REGISTER_ATEN("exp2", map_exp2, "Pow")
QUENCH_REGISTER_ATEN("erfc", map_erfc, "Erf, Sub")
QUENCH_REGISTER_ATEN("trunc", map_trunc, "Abs, Floor, Sign, Mul")
QUENCH_REGISTER_ATEN("isfinite", map_isfinite, "IsNaN, IsInf, Or, Not")
QUENCH_REGISTER_ATEN("atan2", map_atan2, "Div, Atan, Add, Where")
QUENCH_REGISTER_ATEN("hypot", map_hypot, "Mul, Add, Sqrt")
QUENCH_REGISTER_ATEN("logaddexp", map_logaddexp, "Max, Softplus, Add")
QUENCH_REGISTER_ATEN("logit", map_logit, "Clip, Sub, Div, Log")
QUENCH_REGISTER_ATEN("nan_to_num", map_nan_to_num, "IsNaN, IsInf, Where")
QUENCH_REGISTER_ATEN("frac", map_frac, "Floor, Sub")
QUENCH_REGISTER_ATEN("sgn", map_sgn, "Sign")
QUENCH_REGISTER_ATEN("rrelu", map_rrelu, "LeakyRelu")
QUENCH_REGISTER_ATEN("feature_dropout", map_channel_dropout, "the identity")
QUENCH_REGISTER_ATEN("alpha_dropout", map_channel_dropout, "the identity")
QUENCH_REGISTER_ATEN("hardshrink", map_shrink, "Shrink")
QUENCH_REGISTER_ATEN("softshrink", map_shrink, "Shrink")

}  // namespace quench

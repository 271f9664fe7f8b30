// Element-wise functions of LibTorch -> Add, Mul, Pow, Where, comparisons and functions of one operand.
#include <ATen/ATen.h>

#include <map>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

// One operand, one result of its type, same meaning: only the name differs.
const std::map<std::string, std::string>& unary_names() {
  static const std::map<std::string, std::string> kNames = {
      {"relu", "Relu"},   {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"},       {"hardswish", "HardSwish"},
      {"mish", "Mish"},   {"neg", "Neg"},         {"abs", "Abs"},         {"sqrt", "Sqrt"},
      {"exp", "Exp"},     {"log", "Log"},         {"erf", "Erf"},         {"floor", "Floor"},
      {"ceil", "Ceil"},   {"round", "Round"},     {"sign", "Sign"},       {"sin", "Sin"},
      {"cos", "Cos"},     {"tan", "Tan"},         {"asin", "Asin"},       {"acos", "Acos"},
      {"atan", "Atan"},   {"sinh", "Sinh"},       {"cosh", "Cosh"},       {"softsign", "Softsign"},
      {"isnan", "IsNaN"}, {"isinf", "IsInf"},     {"logical_not", "Not"}, {"reciprocal", "Reciprocal"},
      {"asinh", "Asinh"}, {"acosh", "Acosh"},     {"atanh", "Atanh"}};
  return kNames;
}

Values map_unary(AtenCall& call) {
  Value& x = call.tensor("self");
  const bool tests = call.dtype() == DType::kBool;  // isnan, logical_not
  Value& operand = tests ? (call.kind() == "logical_not" ? call.cast(x, DType::kBool) : x) : call.cast(x, call.dtype());
  return {&call.make(unary_names().at(call.kind()), {&operand})};
}

[[maybe_unused]] const bool registered_unary = [] {
  for (const auto& [name, op] : unary_names())
    Registry<AtenEntry>::instance().add(name, AtenEntry{map_unary, false}, op, __FILE__);
  return true;
}();

// self + alpha * other, and its relatives. Both operands get the type of the result.
Value& scaled_operand(AtenCall& call, const std::string& arg) {
  const double alpha = call.real("alpha", 1.0);
  Value& other = call.operand(arg, call.dtype());
  if (alpha == 1.0) return other;
  return call.aux("Mul", {&other, &call.operand("alpha", call.dtype())});
}

Values map_add(AtenCall& call) {
  const bool logical = call.dtype() == DType::kBool;
  return {&call.make(logical ? "Or" : "Add", {&call.operand("self", call.dtype()), &scaled_operand(call, "other")})};
}
Values map_sub(AtenCall& call) {
  return {&call.make("Sub", {&call.operand("self", call.dtype()), &scaled_operand(call, "other")})};
}
Values map_rsub(AtenCall& call) {
  return {&call.make("Sub", {&call.operand("other", call.dtype()), &scaled_operand(call, "self")})};
}
Values map_mul(AtenCall& call) {
  const bool logical = call.dtype() == DType::kBool;
  return {
      &call.make(logical ? "And" : "Mul", {&call.operand("self", call.dtype()), &call.operand("other", call.dtype())})};
}

Values map_div(AtenCall& call) {
  const std::string rounding = call.kind() == "floor_divide" ? "floor" : call.text("rounding_mode", "");
  const bool whole = is_integer(call.dtype());
  // Whole numbers divide exactly enough in double; ONNX's own division of integers truncates.
  const DType type = whole && rounding == "floor" ? DType::kDouble : call.dtype();
  const Values operands{&call.operand("self", type), &call.operand("other", type)};
  if (rounding.empty() || (whole && rounding == "trunc")) return {&call.make("Div", operands)};
  Value& quotient = call.aux("Div", operands);
  if (rounding == "floor") {
    Value& floored = call.make("Floor", {&quotient});
    return {&call.cast(floored, call.dtype())};
  }
  QUENCH_CHECK(rounding == "trunc", call.where(), ": unknown rounding mode '", rounding, "'");
  return {&call.make("Mul", {&call.aux("Sign", {&quotient}), &call.aux("Floor", {&call.aux("Abs", {&quotient})})})};
}

Values map_pow(AtenCall& call) {
  return {&call.make("Pow", {&call.operand("self", call.dtype()), &call.operand("exponent", call.dtype())})};
}

Values map_rsqrt(AtenCall& call) {
  return {&call.make("Reciprocal", {&call.aux("Sqrt", {&call.cast(call.tensor("self"), call.dtype())})})};
}

Values map_square(AtenCall& call) {
  Value& x = call.tensor("self");
  return {&call.make("Mul", {&x, &x})};
}

// The sign of the dividend, as in C.
Values map_fmod(AtenCall& call) {
  return {&call.make("Mod", {&call.operand("self", call.dtype()), &call.operand("other", call.dtype())},
                     {{"fmod", std::int64_t{1}}})};
}

Values map_outer(AtenCall& call) {
  Value& column = call.aux("Unsqueeze", {&call.operand("self", call.dtype()), &call.integers_constant({1})});
  return {&call.make("Mul", {&column, &call.operand("vec2", call.dtype())})};
}

Values map_extremum(AtenCall& call) {
  const bool high = call.kind() == "maximum" || call.kind() == "max";
  return {
      &call.make(high ? "Max" : "Min", {&call.operand("self", call.dtype()), &call.operand("other", call.dtype())})};
}

// The type in which two operands are compared. A number, or a tensor without dims, follows the other
// operand unless that is an integer and it is not.
DType common_type(const AtenCall& call, const std::string& left, const std::string& right) {
  const auto type_of = [&](const std::string& arg) {
    const AtenArg& given = call.args.at(arg);
    if (Value* const* value = std::get_if<Value*>(&given)) return (*value)->dtype();
    return std::holds_alternative<double>(given) ? DType::kFloat : DType::kUndefined;
  };
  const DType a = type_of(left), b = type_of(right);
  if (a == b || b == DType::kUndefined) return a;
  if (a == DType::kUndefined) return b;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  const bool number = !std::holds_alternative<Value*>(call.args.at(right));
  return number ? a : dtype_of(at::promote_types(scalar_type_of(a), scalar_type_of(b)));
}

template <const char* const& kOp>
Values map_compare(AtenCall& call) {
  const DType type = common_type(call, "self", "other");
  return {&call.make(kOp, {&call.operand("self", type), &call.operand("other", type)})};
}

constexpr const char *kEqual = "Equal", *kGreater = "Greater", *kLess = "Less", *kGreaterOrEqual = "GreaterOrEqual",
                     *kLessOrEqual = "LessOrEqual", *kAnd = "And", *kOr = "Or", *kXor = "Xor";

Values map_not_equal(AtenCall& call) {
  const DType type = common_type(call, "self", "other");
  return {&call.make("Not", {&call.aux("Equal", {&call.operand("self", type), &call.operand("other", type)})})};
}

template <const char* const& kOp>
Values map_logical(AtenCall& call) {
  const bool bits = !call.kind().starts_with("logical") && call.dtype() != DType::kBool;
  const std::string op = bits ? concat("Bitwise", kOp) : kOp;
  const DType type = bits ? call.dtype() : DType::kBool;
  return {&call.make(op, {&call.operand("self", type), &call.operand("other", type)})};
}

Values map_bitwise_not(AtenCall& call) {
  return {&call.make(call.dtype() == DType::kBool ? "Not" : "BitwiseNot", {&call.tensor("self")})};
}

Values map_where(AtenCall& call) {
  QUENCH_CHECK(call.has("self"), call.where(), ": the form with one argument has a result of unknown size");
  return {&call.make("Where", {&call.operand("condition", DType::kBool), &call.operand("self", call.dtype()),
                               &call.operand("other", call.dtype())})};
}

Values map_masked_fill(AtenCall& call) {
  return {&call.make("Where", {&call.operand("mask", DType::kBool), &call.operand("value", call.dtype()),
                               &call.operand("self", call.dtype())})};
}

// self + value * tensor1 (*|/) tensor2
Values map_addcmul(AtenCall& call) {
  Value* product =
      &call.aux(call.kind() == "addcmul" ? "Mul" : "Div", {&call.tensor("tensor1"), &call.tensor("tensor2")});
  if (call.real("value", 1.0) != 1.0) product = &call.aux("Mul", {product, &call.operand("value", call.dtype())});
  return {&call.make("Add", {&call.tensor("self"), product})};
}

// self + weight * (end - self)
Values map_lerp(AtenCall& call) {
  Value& x = call.tensor("self");
  Value& step = call.aux("Mul", {&call.operand("weight", call.dtype()), &call.aux("Sub", {&call.tensor("end"), &x})});
  return {&call.make("Add", {&x, &step})};
}

Values map_remainder(AtenCall& call) {
  Value &a = call.operand("self", call.dtype()), &b = call.operand("other", call.dtype());
  if (is_integer(call.dtype())) return {&call.make("Mod", {&a, &b})};
  Value& whole = call.aux("Floor", {&call.aux("Div", {&a, &b})});
  return {&call.make("Sub", {&a, &call.aux("Mul", {&whole, &b})})};
}

}  // namespace

QUENCH_REGISTER_ATEN("add", map_add, "Add")
QUENCH_REGISTER_ATEN("sub", map_sub, "Sub")
QUENCH_REGISTER_ATEN("rsub", map_rsub, "Sub")
QUENCH_REGISTER_ATEN("mul", map_mul, "Mul")
QUENCH_REGISTER_ATEN("div", map_div, "Div")
QUENCH_REGISTER_ATEN("true_divide", map_div, "Div")
QUENCH_REGISTER_ATEN("floor_divide", map_div, "Div, Floor")
QUENCH_REGISTER_ATEN("remainder", map_remainder, "Mod")
QUENCH_REGISTER_ATEN("pow", map_pow, "Pow")
QUENCH_REGISTER_ATEN("rsqrt", map_rsqrt, "Sqrt, Reciprocal")
QUENCH_REGISTER_ATEN("square", map_square, "Mul")
QUENCH_REGISTER_ATEN("fmod", map_fmod, "Mod")
QUENCH_REGISTER_ATEN("outer", map_outer, "Unsqueeze, Mul")
QUENCH_REGISTER_ATEN("maximum", map_extremum, "Max")
QUENCH_REGISTER_ATEN("minimum", map_extremum, "Min")
QUENCH_REGISTER_ATEN("eq", map_compare<kEqual>, "Equal")
QUENCH_REGISTER_ATEN("ne", map_not_equal, "Equal, Not")
QUENCH_REGISTER_ATEN("gt", map_compare<kGreater>, "Greater")
QUENCH_REGISTER_ATEN("lt", map_compare<kLess>, "Less")
QUENCH_REGISTER_ATEN("ge", map_compare<kGreaterOrEqual>, "GreaterOrEqual")
QUENCH_REGISTER_ATEN("le", map_compare<kLessOrEqual>, "LessOrEqual")
QUENCH_REGISTER_ATEN("logical_and", map_logical<kAnd>, "And")
QUENCH_REGISTER_ATEN("logical_or", map_logical<kOr>, "Or")
QUENCH_REGISTER_ATEN("logical_xor", map_logical<kXor>, "Xor")
QUENCH_REGISTER_ATEN("bitwise_and", map_logical<kAnd>, "And")
QUENCH_REGISTER_ATEN("bitwise_or", map_logical<kOr>, "Or")
QUENCH_REGISTER_ATEN("bitwise_xor", map_logical<kXor>, "Xor")
QUENCH_REGISTER_ATEN("__and__", map_logical<kAnd>, "And")
QUENCH_REGISTER_ATEN("__or__", map_logical<kOr>, "Or")
QUENCH_REGISTER_ATEN("__xor__", map_logical<kXor>, "Xor")
QUENCH_REGISTER_ATEN("bitwise_not", map_bitwise_not, "Not")
QUENCH_REGISTER_ATEN("where", map_where, "Where")
QUENCH_REGISTER_ATEN("masked_fill", map_masked_fill, "Where")
QUENCH_REGISTER_ATEN("addcmul", map_addcmul, "Mul, Add")
QUENCH_REGISTER_ATEN("addcdiv", map_addcmul, "Div, Add")
QUENCH_REGISTER_ATEN("lerp", map_lerp, "Sub, Mul, Add")

}  // namespace quench

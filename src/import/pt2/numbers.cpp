#include "import/pt2/numbers.h"

#include <functional>
#include <map>
#include <optional>

#include "quench/error.h"

namespace quench {
namespace {

using Number = std::int64_t;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

AtenInt from_value(Value& value, const Dim& dim) {
  AtenInt result;
  result.source = &value;
  result.axis = -1;
  result.dim = dim;
  return result;
}

// Of plain numbers; nothing if it overflows.
std::optional<Number> fold(const std::string& op, Number a, Number b) {
  Number result = 0;
  if (op == "add") return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (op == "sub") return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (op == "mul") return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (op == "sym_max") return std::max(a, b);
  if (op == "sym_min") return std::min(a, b);
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  if (op == "floordiv") return floor_div(a, b);
  return a - floor_div(a, b) * b;  // mod: the sign of the divisor
}

// A dim times, plus or over a number stays an expression of the dim.
std::optional<AtenInt> shift(const std::string& op, const AtenInt& a, const AtenInt& b) {
  if (a.is_number() || !b.is_number()) return std::nullopt;
  AtenInt result = a;
  bool fits = false;
  if (op == "add") fits = !__builtin_add_overflow(a.plus, b.number, &result.plus);
  if (op == "sub") fits = !__builtin_sub_overflow(a.plus, b.number, &result.plus);
  if (op == "mul")
    fits = a.over == 1 && !__builtin_mul_overflow(a.times, b.number, &result.times) &&
           !__builtin_mul_overflow(a.plus, b.number, &result.plus);
  // A dim is never negative, so truncation is floor.
  if (op == "floordiv") {
    fits = a.axis >= 0 && a.plus == 0 && a.times > 0 && b.number > 0 &&
           !__builtin_mul_overflow(a.over, b.number, &result.over);
  }
  return fits ? std::optional(result) : std::nullopt;
}

Value& by_nodes(AtenCall& call, const std::string& op, const AtenInt& a, const AtenInt& b) {
  static const std::map<std::string, std::string> kOps = {{"add", "Add"}, {"sub", "Sub"},     {"mul", "Mul"},
                                                          {"mod", "Mod"}, {"sym_max", "Max"}, {"sym_min", "Min"}};
  Value &left = call.shape_value({a}), &right = call.shape_value({b});
  if (op != "floordiv") return call.aux(kOps.at(op), {&left, &right});
  // ONNX's division truncates; its remainder has the divisor's sign, as Python's, so that this is exact.
  Value& rest = call.aux("Mod", {&left, &right});
  return call.aux("Div", {&call.aux("Sub", {&left, &rest}), &right});
}

std::string op_of(const std::string& target) { return target.substr(target.rfind('.') + 1); }

}  // namespace

bool is_number_target(const std::string& target) {
  if (!target.starts_with("_operator.") && !target.starts_with("torch.sym_")) return false;
  const std::string op = op_of(target);
  for (const char* known : {"add", "sub", "mul", "floordiv", "mod", "neg", "sym_max", "sym_min"})
    if (op == known) return true;
  return false;
}

AtenInt compute_number(AtenCall& call, const std::string& target, const std::vector<AtenInt>& operands,
                       const Dim& dim) {
  std::string op = op_of(target);
  std::vector<AtenInt> given = operands;
  if (op == "neg" && given.size() == 1) {
    op = "mul";
    given.emplace_back(-1);
  }
  QUENCH_CHECK(given.size() == 2, call.where(), ": ", operands.size(), " operands");
  const AtenInt &a = given[0], &b = given[1];
  if (a.is_number() && b.is_number()) {
    const std::optional<Number> result = fold(op, a.number, b.number);
    QUENCH_CHECK(result, call.where(), ": ", a.number, " and ", b.number, " have no such result");
    return *result;
  }
  const bool commutes = op == "add" || op == "mul";
  std::optional<AtenInt> shifted = shift(op, a, b);
  if (!shifted && commutes) shifted = shift(op, b, a);
  AtenInt result = shifted ? *shifted : from_value(by_nodes(call, op, a, b), dim);
  result.dim = dim;
  return result;
}

}  // namespace quench

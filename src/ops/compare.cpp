// Comparison, logic, and selection by a condition.
#include <ATen/ATen.h>

#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "quench/op.h"

namespace quench {
namespace {

template <auto compute>
std::vector<RtValue> compare(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[0].tensor(), &b = in[1].tensor();
  if (has_kernels(a.scalar_type())) return {compute(a, b)};
  return {compute(ordered(a), ordered(b))};
}

at::Tensor equal(const at::Tensor& a, const at::Tensor& b) { return at::eq(a, b); }
at::Tensor less(const at::Tensor& a, const at::Tensor& b) { return at::lt(a, b); }
at::Tensor less_or_equal(const at::Tensor& a, const at::Tensor& b) { return at::le(a, b); }
at::Tensor greater(const at::Tensor& a, const at::Tensor& b) { return at::gt(a, b); }
at::Tensor greater_or_equal(const at::Tensor& a, const at::Tensor& b) { return at::ge(a, b); }
at::Tensor both(const at::Tensor& a, const at::Tensor& b) { return at::logical_and(a, b); }
at::Tensor either(const at::Tensor& a, const at::Tensor& b) { return at::logical_or(a, b); }
at::Tensor one_of(const at::Tensor& a, const at::Tensor& b) { return at::logical_xor(a, b); }

std::vector<RtValue> logical_not(const Node&, const Inputs& in, ExecContext&) {
  return {at::logical_not(in[0].tensor())};
}

std::vector<RtValue> where(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor &a = in[1].tensor(), &b = in[2].tensor();
  return {RtValue(at::where(in[0].tensor(), a, b), in[1].dtype())};
}

// A dim is never negative, so a symbol differs from any number below zero.
Dim equal_dims(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number()) return a.number() == b.number() ? 1 : 0;
  if (a.certainly_equal(b)) return 1;
  const bool symbol_and_negative =
      (a.is_symbol() && b.is_number() && b.number() < 0) || (b.is_symbol() && a.is_number() && a.number() < 0);
  return symbol_and_negative ? Dim(0) : Dim();
}

void equal_shape(Node& node) {
  broadcast_to_bool(node);
  set_contents(node, combine_contents(node, equal_dims));
}

void where_shape(Node& node) {
  broadcast_inputs(node);
  const Value& result = node.output();
  set_type(node, 0, input_dtype(node, 1), result.type().dims);
  const auto condition = input_contents(node, 0), a = input_contents(node, 1), b = input_contents(node, 2);
  if (!condition || !a || !b || !result.has_rank() || result.rank() > 1) return;
  const std::size_t size = std::max({condition->size(), a->size(), b->size()});
  Dims contents(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto at = [&](const Dims& dims) { return dims.size() == 1 ? dims[0] : i < dims.size() ? dims[i] : Dim(); };
    const Dim chosen = at(*condition);
    if (chosen.is_number()) contents[i] = chosen.number() != 0 ? at(*a) : at(*b);
  }
  set_contents(node, contents);
}

}  // namespace

QUENCH_REGISTER_OP("Equal", compare<equal>, equal_shape, {}, "a == b")
QUENCH_REGISTER_OP("Less", compare<less>, broadcast_to_bool, {}, "a < b")
QUENCH_REGISTER_OP("LessOrEqual", compare<less_or_equal>, broadcast_to_bool, {}, "a <= b")
QUENCH_REGISTER_OP("Greater", compare<greater>, broadcast_to_bool, {}, "a > b")
QUENCH_REGISTER_OP("GreaterOrEqual", compare<greater_or_equal>, broadcast_to_bool, {}, "a >= b")
QUENCH_REGISTER_OP("And", compare<both>, broadcast_to_bool, {}, "both are true")
QUENCH_REGISTER_OP("Or", compare<either>, broadcast_to_bool, {}, "at least one is true")
QUENCH_REGISTER_OP("Xor", compare<one_of>, broadcast_to_bool, {}, "exactly one is true")
QUENCH_REGISTER_OP("Not", logical_not, same_as_input, {}, "is not true")
QUENCH_REGISTER_OP("Where", where, where_shape, {}, "a where the condition holds, else b")

}  // namespace quench

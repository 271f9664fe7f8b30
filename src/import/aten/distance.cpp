// Lengths, distances and similarities of vectors, and differences of neighbours.
#include <ATen/ATen.h>

#include <limits>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

// |x| along the axes, of order 1 or 2.
Value& length(AtenCall& call, double order, Value& x, const std::vector<std::int64_t>& axes, bool keeps, bool main) {
  QUENCH_CHECK(order == 1.0 || order == 2.0, call.where(), ": only orders 1 and 2 are supported, not ", order);
  const Values inputs{&x, &call.integers_constant(axes)};
  const std::string op = order == 1.0 ? "ReduceL1" : "ReduceL2";
  const Attrs attrs{{"keepdims", std::int64_t{keeps}}};
  return main ? call.make(op, inputs, attrs) : call.aux(op, inputs, attrs);
}

// Of every row of x1 to every row of x2.
Values map_cdist(AtenCall& call) {
  Value& left = call.aux("Unsqueeze", {&call.tensor("x1"), &call.integers_constant({-2})});
  Value& right = call.aux("Unsqueeze", {&call.tensor("x2"), &call.integers_constant({-3})});
  return {&length(call, call.real("p", 2.0), call.aux("Sub", {&left, &right}), {-1}, false, true)};
}

Values map_pairwise_distance(AtenCall& call) {
  Value& difference = call.aux("Sub", {&call.tensor("x1"), &call.tensor("x2")});
  Value& moved = call.aux("Add", {&difference, &call.scalar(call.real("eps", 1e-6), call.dtype())});
  return {&length(call, call.real("p", 2.0), moved, {-1}, call.flag("keepdim"), true)};
}

// The product of both, each over its length, which is at least eps.
Values map_cosine_similarity(AtenCall& call) {
  Value& floor = call.scalar(call.real("eps", 1e-8), call.dtype());
  const std::int64_t axis = call.integer("dim", 1);
  const auto direction = [&](const char* arg) -> Value& {
    Value& x = call.cast(call.tensor(arg), call.dtype());
    Value& size = call.aux("Max", {&length(call, 2.0, x, {axis}, true, false), &floor});
    return call.aux("Div", {&x, &size});
  };
  Value& product = call.aux("Mul", {&direction("x1"), &direction("x2")});
  return {&call.make("ReduceSum", {&product, &call.integers_constant({axis})}, {{"keepdims", std::int64_t{0}}})};
}

// Each element minus the one before it, n times over.
Values map_diff(AtenCall& call) {
  Value* x = &call.tensor("self");
  const std::int64_t axis = call.axis("dim", x->rank(), -1), times = call.integer("n", 1);
  Values whole;
  for (const char* arg : {"prepend", "self", "append"})
    if (Value* part = call.tensor_or_null(arg)) whole.push_back(part);
  if (whole.size() > 1) x = &call.aux("Concat", whole, {{"axis", axis}});
  const auto part = [&](std::int64_t start, std::int64_t end) -> Value& {
    return call.aux("Slice", {x, &call.integers_constant({start}), &call.integers_constant({end}),
                              &call.integers_constant({axis})});
  };
  for (std::int64_t i = 0; i < times; ++i) {
    Value &later = part(1, std::numeric_limits<std::int64_t>::max()), &earlier = part(0, -1);
    const bool logical = x->dtype() == DType::kBool;
    x = &call.make(logical ? "Xor" : "Sub", {&later, &earlier});
  }
  return {x};
}

}  // namespace

QUENCH_REGISTER_ATEN("_cdist_forward", map_cdist, "Sub, ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("cdist", map_cdist, "Sub, ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("pairwise_distance", map_pairwise_distance, "Sub, Add, ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("cosine_similarity", map_cosine_similarity, "ReduceL2, Max, Div, Mul, ReduceSum")
QUENCH_REGISTER_ATEN("diff", map_diff, "Slice, Sub")

}  // namespace quench

// Reductions of LibTorch -> ReduceMean, ReduceSum, ReduceMax, ArgMax, TopK, CumSum.
#include <ATen/ATen.h>

#include <limits>
#include <numeric>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

Value& self(const AtenCall& call) { return call.tensor("self"); }

// Over the axes of `dim`, or all of them.
Value& reduce(AtenCall& call, const std::string& op, Value& x, bool main = true) {
  const Values inputs{&x, &call.integers_constant(call.axes("dim", x.rank()))};
  const Attrs attrs{{"keepdims", std::int64_t{call.flag("keepdim")}}};
  return main ? call.make(op, inputs, attrs) : call.aux(op, inputs, attrs);
}

Values map_mean(AtenCall& call) { return {&reduce(call, "ReduceMean", call.cast(self(call), call.dtype()))}; }
Values map_sum(AtenCall& call) { return {&reduce(call, "ReduceSum", call.cast(self(call), call.dtype()))}; }
Values map_prod(AtenCall& call) { return {&reduce(call, "ReduceProd", call.cast(self(call), call.dtype()))}; }
Values map_amax(AtenCall& call) { return {&reduce(call, "ReduceMax", self(call))}; }
Values map_amin(AtenCall& call) { return {&reduce(call, "ReduceMin", self(call))}; }
Values map_logsumexp(AtenCall& call) { return {&reduce(call, "ReduceLogSumExp", self(call))}; }

// Three forms: of two tensors, of one tensor, and along one axis with positions.
Values map_max(AtenCall& call) {
  const bool high = call.kind() == "max";
  if (call.has("other"))
    return {
        &call.make(high ? "Max" : "Min", {&call.operand("self", call.dtype()), &call.operand("other", call.dtype())})};
  Value& values = reduce(call, high ? "ReduceMax" : "ReduceMin", self(call));
  if (!call.has("dim")) return {&values};
  Value& positions = call.aux(
      high ? "ArgMax" : "ArgMin", {&self(call)},
      {{"axis", std::int64_t{call.axis("dim", self(call).rank())}}, {"keepdims", std::int64_t{call.flag("keepdim")}}});
  return {&values, &positions};
}

Values map_argmax(AtenCall& call) {
  Value* x = &self(call);
  const bool everything = !call.has("dim");
  if (everything) x = &call.aux("Reshape", {x, &call.integers_constant({-1})});
  const int axis = everything ? 0 : call.axis("dim", x->rank());
  return {&call.make(call.kind() == "argmax" ? "ArgMax" : "ArgMin", {x},
                     {{"axis", std::int64_t{axis}}, {"keepdims", std::int64_t{call.flag("keepdim")}}})};
}

Values map_topk(AtenCall& call) {
  Node& node = call.make_node("TopK", {&self(call), &call.shape_value({call.dim_integer("k")})}, 2,
                              {{"axis", std::int64_t{call.axis("dim", self(call).rank(), -1)}},
                               {"largest", std::int64_t{call.flag("largest", true)}},
                               {"sorted", std::int64_t{call.flag("sorted", true)}}});
  return {&node.output(0), &node.output(1)};
}

// All of the axis, in order. ONNX does not define the order of equal elements, like LibTorch without `stable`.
Values map_sort(AtenCall& call) {
  Value& x = self(call);
  const int axis = call.axis("dim", x.rank(), -1);
  QUENCH_CHECK(!call.flag("stable"), call.where(), ": a stable order has no counterpart");
  const AtenInt count = call.sizes_of(x).at(static_cast<std::size_t>(axis));
  Node& node = call.make_node("TopK", {&x, &call.shape_value({count})}, 2,
                              {{"axis", std::int64_t{axis}}, {"largest", std::int64_t{call.flag("descending")}}});
  return {&node.output(0), &node.output(1)};
}

Values map_argsort(AtenCall& call) { return {map_sort(call).at(1)}; }

Values map_cumsum(AtenCall& call) {
  Value& axis = call.constant(at::scalar_tensor(call.axis("dim", self(call).rank()), at::kLong));
  return {&call.make(call.kind() == "cumsum" ? "CumSum" : "CumProd", {&call.cast(self(call), call.dtype()), &axis})};
}

// The mean of squared distances, times n / (n - correction).
Value& variance(AtenCall& call, bool main) {
  Value& x = self(call);
  const std::vector<std::int64_t> axes = call.axes("dim", x.rank());
  Value& mean = call.aux("ReduceMean", {&x, &call.integers_constant(axes)}, {{"keepdims", std::int64_t{1}}});
  Value& distance = call.aux("Sub", {&x, &mean});
  Value& square = call.aux("Mul", {&distance, &distance});
  const double correction = call.has("correction")        ? call.real("correction", 1.0)
                            : call.flag("unbiased", true) ? 1.0
                                                          : 0.0;
  double count = 1.0;
  for (const std::int64_t axis : axes) {
    const Dim& dim = x.dims()[static_cast<std::size_t>(axis)];
    QUENCH_CHECK(dim.is_number() || correction == 0.0, call.where(), ": unbiased over a dim whose size varies");
    count *= dim.is_number() ? static_cast<double>(dim.number()) : 1.0;
  }
  if (correction == 0.0) return reduce(call, "ReduceMean", square, main);
  Value& factor = call.scalar(count / (count - correction), call.dtype());
  Value& biased = reduce(call, "ReduceMean", square, false);
  return main ? call.make("Mul", {&biased, &factor}) : call.aux("Mul", {&biased, &factor});
}

Values map_var(AtenCall& call) { return {&variance(call, true)}; }
Values map_std(AtenCall& call) { return {&call.make("Sqrt", {&variance(call, false)})}; }

Values map_var_mean(AtenCall& call) {
  Value& variances = variance(call, true);
  Value& spread = call.kind() == "std_mean" ? call.aux("Sqrt", {&variances}) : variances;
  return {&spread, &reduce(call, "ReduceMean", self(call), false)};
}

Values map_norm(AtenCall& call) {
  const double order = call.real(call.args.contains("ord") ? "ord" : "p", 2.0);
  const bool of_matrix = call.kind() == "linalg_norm" && call.has("ord") && call.integers("dim").size() != 1;
  QUENCH_CHECK(!of_matrix, call.where(), ": norms of matrices have no counterpart");
  if (order == std::numeric_limits<double>::infinity())
    return {&reduce(call, "ReduceMax", call.aux("Abs", {&self(call)}))};
  QUENCH_CHECK(order == 1.0 || order == 2.0, call.where(), ": only the norms 1, 2 and infinity are supported, not ",
               order);
  return {&reduce(call, order == 1.0 ? "ReduceL1" : "ReduceL2", self(call))};
}

Values map_any_all(AtenCall& call) {
  Value& numbers = call.cast(call.cast(self(call), DType::kBool), DType::kInt32);
  Value& result = reduce(call, call.kind() == "any" ? "ReduceMax" : "ReduceMin", numbers, false);
  return {&call.make("Cast", {&result}, {{"to", static_cast<std::int64_t>(DType::kBool)}})};
}

}  // namespace

QUENCH_REGISTER_ATEN("mean", map_mean, "ReduceMean")
QUENCH_REGISTER_ATEN("sum", map_sum, "ReduceSum")
QUENCH_REGISTER_ATEN("prod", map_prod, "ReduceProd")
QUENCH_REGISTER_ATEN("amax", map_amax, "ReduceMax")
QUENCH_REGISTER_ATEN("amin", map_amin, "ReduceMin")
QUENCH_REGISTER_ATEN("logsumexp", map_logsumexp, "ReduceLogSumExp")
QUENCH_REGISTER_ATEN("max", map_max, "ReduceMax, ArgMax; Max")
QUENCH_REGISTER_ATEN("min", map_max, "ReduceMin, ArgMin; Min")
QUENCH_REGISTER_ATEN("argmax", map_argmax, "ArgMax")
QUENCH_REGISTER_ATEN("argmin", map_argmax, "ArgMin")
QUENCH_REGISTER_ATEN("topk", map_topk, "TopK")
QUENCH_REGISTER_ATEN("sort", map_sort, "TopK")
QUENCH_REGISTER_ATEN("cumsum", map_cumsum, "CumSum")
QUENCH_REGISTER_ATEN("cumprod", map_cumsum, "CumProd")
QUENCH_REGISTER_ATEN("argsort", map_argsort, "TopK")
QUENCH_REGISTER_ATEN("var_mean", map_var_mean, "ReduceMean, Mul")
QUENCH_REGISTER_ATEN("std_mean", map_var_mean, "ReduceMean, Mul, Sqrt")
QUENCH_REGISTER_ATEN("var", map_var, "ReduceMean, Mul")
QUENCH_REGISTER_ATEN("std", map_std, "ReduceMean, Mul, Sqrt")
QUENCH_REGISTER_ATEN("norm", map_norm, "ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("linalg_norm", map_norm, "ReduceL2")
QUENCH_REGISTER_ATEN("linalg_vector_norm", map_norm, "ReduceL1, ReduceL2")
QUENCH_REGISTER_ATEN("any", map_any_all, "ReduceMax")
QUENCH_REGISTER_ATEN("all", map_any_all, "ReduceMin")

}  // namespace quench

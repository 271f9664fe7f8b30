// Reading and writing elements at positions given by tensors: x[i, j] -> GatherND, x[i, j] = y -> ScatterND.
#include <ATen/ATen.h>

#include <limits>
#include <numeric>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// Which axes of x a list of positions refers to. GatherND and ScatterND want them first, in `order`; the axes of the
// positions then go where LibTorch has them: in place of the axes if those are neighbours, else in front.
struct Places {
  Ints axes, order;
  Value* positions = nullptr;  // [..., one per axis]
  int position_rank = 0;
  std::int64_t front = 0;  // axes of x in front of the positions', in a result
};

Ints inverse(const Ints& perm) {
  Ints result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    result[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return result;
}

bool is_identity(const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

Value& permuted(AtenCall& call, Value& x, const Ints& perm) { return is_identity(perm) ? x : call.transpose(x, perm); }

// Positions broadcast to one shape, side by side along a new last axis.
Value& joined(AtenCall& call, Values positions, int rank) {
  Value* sum = positions[0];
  for (std::size_t i = 1; i < positions.size(); ++i) sum = &call.aux("Add", {sum, positions[i]});
  Value* shape = positions.size() > 1 ? &call.aux("Shape", {sum}) : nullptr;
  Value& last = call.integers_constant({rank});
  for (Value*& one : positions) {
    Value& whole = shape ? call.aux("Expand", {one, shape}) : *one;
    one = &call.aux("Unsqueeze", {&whole, &last});
  }
  return positions.size() == 1 ? *positions[0] : call.aux("Concat", positions, {{"axis", std::int64_t{-1}}});
}

Places places_of(AtenCall& call, const Value& x, const Values& indices) {
  Places places;
  Values positions;
  QUENCH_CHECK(static_cast<int>(indices.size()) <= x.rank(), call.where(), ": more indices than dims");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    QUENCH_CHECK(is_integer(indices[i]->dtype()), call.where(),
                 ": indexing by a mask together with other indices is not supported");
    places.axes.push_back(static_cast<std::int64_t>(i));
    positions.push_back(&call.cast(*indices[i], DType::kInt64));
    places.position_rank = std::max(places.position_rank, indices[i]->rank());
  }
  QUENCH_CHECK(!positions.empty(), call.where(), ": no index");
  places.order = places.axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis)
    if (std::find(places.axes.begin(), places.axes.end(), axis) == places.axes.end()) places.order.push_back(axis);
  const bool neighbours = places.axes.back() - places.axes.front() + 1 == static_cast<std::int64_t>(places.axes.size());
  places.front = neighbours ? places.axes.front() : 0;
  places.positions = &joined(call, positions, places.position_rank);
  return places;
}

// From [positions', other axes] to what LibTorch gives: the first `front` of the others go in front.
Ints result_perm(const Places& places, const Value& x) {
  const std::int64_t positions = places.position_rank;
  const std::int64_t rank = positions + x.rank() - static_cast<std::int64_t>(places.axes.size());
  Ints perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + positions, perm.begin() + positions + places.front);
  return perm;
}

Value& read_at(AtenCall& call, Value& x, const Places& places) {
  Value& read = call.make("GatherND", {&permuted(call, x, places.order), places.positions});
  return permuted(call, read, result_perm(places, x));
}

// x with the values at the places replaced, or added to.
Value& write_at(AtenCall& call, Value& x, const Values& indices, Value& values, bool adds) {
  const Places places = places_of(call, x, indices);
  Value& shape = call.aux("Shape", {&read_at(call, x, places)});
  Value& all = call.aux("Expand", {&call.cast(values, call.dtype()), &shape});
  Value& updates = permuted(call, all, inverse(result_perm(places, x)));
  Attrs attrs;
  if (adds) attrs["reduction"] = std::string("add");
  Value& written = call.make("ScatterND", {&permuted(call, x, places.order), places.positions, &updates}, attrs);
  return permuted(call, written, inverse(places.order));
}

Value* only_mask(const Values& indices) {
  return indices.size() == 1 && indices[0] && indices[0]->dtype() == DType::kBool ? indices[0] : nullptr;
}

// One tensor of positions is a Gather; a mask gives as many rows as it has true elements.
Values map_index(AtenCall& call) {
  Value& x = call.tensor("self");
  const Values indices = call.tensors("indices");
  if (Value* mask = only_mask(indices)) {
    Value& positions = call.aux("Transpose", {&call.aux("NonZero", {mask})}, {{"perm", Ints{1, 0}}});
    return {&call.make("GatherND", {&x, &positions})};
  }
  const Places places = places_of(call, x, indices);
  if (places.axes.size() > 1) return {&read_at(call, x, places)};
  const std::int64_t axis = places.axes[0];
  return {&call.make("Gather", {&x, indices[static_cast<std::size_t>(axis)]}, {{"axis", axis}})};
}

// x[mask] = number: the mask covers the first axes.
Value& fill_by_mask(AtenCall& call, Value& x, Value& mask, Value& values) {
  QUENCH_CHECK(values.has_rank() && values.rank() == 0, call.where(),
               ": writing several values by a mask is not supported");
  Ints axes;
  for (int axis = mask.rank(); axis < x.rank(); ++axis) axes.push_back(axis);
  Value& whole = axes.empty() ? mask : call.aux("Unsqueeze", {&mask, &call.integers_constant(axes)});
  return call.make("Where", {&whole, &call.cast(values, call.dtype()), &x});
}

Values map_index_put(AtenCall& call) {
  Value &x = call.tensor("self"), &values = call.tensor("values");
  const Values indices = call.tensors("indices");
  const bool adds = call.flag("accumulate");
  Value* mask = only_mask(indices);
  return {mask && !adds ? &fill_by_mask(call, x, *mask, values) : &write_at(call, x, indices, values, adds)};
}

// One tensor of positions along one axis.
Values along(AtenCall& call, Value& positions) {
  Values indices(static_cast<std::size_t>(call.axis("dim", call.tensor("self").rank())) + 1, nullptr);
  indices.back() = &positions;
  return indices;
}

Values map_index_write(AtenCall& call) {
  const bool fills = call.kind() == "index_fill";
  Value* source = &call.operand(fills ? "value" : "source", call.dtype());
  if (call.real("alpha", 1.0) != 1.0) source = &call.aux("Mul", {source, &call.operand("alpha", call.dtype())});
  return {&write_at(call, call.tensor("self"), along(call, call.tensor("index")), *source, call.kind() == "index_add")};
}

// The positions that a slice reads: a slice of all of them, so that its ends are clamped as usual.
Values map_slice_scatter(AtenCall& call) {
  Value &x = call.tensor("self"), &source = call.cast(call.tensor("src"), call.dtype());
  const AtenInt start = call.has("start") ? call.dim_integer("start") : AtenInt(0);
  const AtenInt end = call.has("end") ? call.dim_integer("end") : AtenInt(std::numeric_limits<std::int64_t>::max());
  const bool everything = start.is_number() && start.number == 0 && end.is_number() &&
                          end.number == std::numeric_limits<std::int64_t>::max() && call.integer("step", 1) == 1;
  if (everything) return {&source};
  const AtenInt size = call.sizes_of(x).at(static_cast<std::size_t>(call.axis("dim", x.rank(), 0)));
  const auto number = [&](std::int64_t value) { return &call.constant(at::scalar_tensor(value, at::kLong)); };
  Value& limit = call.aux("Squeeze", {&call.shape_value({size})});
  Value& all = call.aux("Range", {number(0), &limit, number(1)});
  Value& positions =
      call.aux("Slice", {&all, &call.shape_value({start}), &call.shape_value({end}), &call.integers_constant({0}),
                         &call.integers_constant({call.integer("step", 1)})});
  if (!call.has("dim")) call.args["dim"] = AtenInt(0);
  return {&write_at(call, x, along(call, positions), source, false)};
}

Values map_select_scatter(AtenCall& call) {
  Value& x = call.tensor("self");
  Value& position = call.aux("Reshape", {&call.operand("index", DType::kInt64), &call.integers_constant({1})});
  Value& axis = call.integers_constant({call.axis("dim", x.rank())});
  Value& row = call.aux("Unsqueeze", {&call.cast(call.tensor("src"), call.dtype()), &axis});
  return {&write_at(call, x, along(call, position), row, false)};
}

Values map_scatter_reduce(AtenCall& call) {
  static const std::map<std::string, std::string> kReductions = {
      {"sum", "add"}, {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
  const auto reduction = kReductions.find(call.text("reduce", ""));
  QUENCH_CHECK(reduction != kReductions.end() && call.flag("include_self", true), call.where(),
               ": only sum, prod, amax and amin that include self have a counterpart");
  return {&call.make(
      "ScatterElements", {&call.tensor("self"), &call.tensor("index"), &call.tensor("src")},
      {{"axis", std::int64_t{call.axis("dim", call.tensor("self").rank())}}, {"reduction", reduction->second}})};
}

// The n-th true element of the mask takes the n-th element of the source. In front of the source goes an element for
// those before the first true one to read, so that the source may be empty.
Values map_masked_scatter(AtenCall& call) {
  Value& x = call.tensor("self");
  Value& mask = call.aux("Expand", {&call.operand("mask", DType::kBool), &call.aux("Shape", {&x})});
  Value& flat = call.integers_constant({-1});
  Value& counted = call.aux("Reshape", {&call.cast(mask, DType::kInt64), &flat});
  Value& place = call.aux("CumSum", {&counted, &call.constant(at::scalar_tensor(0, at::kLong))});
  Value& source = call.aux("Reshape", {&call.cast(call.tensor("source"), call.dtype()), &flat});
  Value& front = call.constant(at::zeros({1}, scalar_type_of(call.dtype())));
  Value& choice = call.aux("Concat", {&front, &source}, {{"axis", std::int64_t{0}}});
  Value& taken = call.aux("Gather", {&choice, &place}, {{"axis", std::int64_t{0}}});
  Value& spread = call.aux("Reshape", {&taken, &call.aux("Shape", {&mask})});
  return {&call.make("Where", {&mask, &spread, &x})};
}

Values map_nonzero(AtenCall& call) {
  return {&call.make("Transpose", {&call.aux("NonZero", {&call.tensor("self")})}, {{"perm", Ints{1, 0}}})};
}

}  // namespace

QUENCH_REGISTER_ATEN("index", map_index, "Gather, GatherND")
QUENCH_REGISTER_ATEN("_unsafe_index", map_index, "Gather, GatherND")
QUENCH_REGISTER_ATEN("index_put", map_index_put, "ScatterND, Where")
QUENCH_REGISTER_ATEN("_unsafe_index_put", map_index_put, "ScatterND, Where")
QUENCH_REGISTER_ATEN("index_fill", map_index_write, "ScatterND")
QUENCH_REGISTER_ATEN("index_copy", map_index_write, "ScatterND")
QUENCH_REGISTER_ATEN("index_add", map_index_write, "ScatterND")
QUENCH_REGISTER_ATEN("slice_scatter", map_slice_scatter, "Range, Slice, ScatterND")
QUENCH_REGISTER_ATEN("select_scatter", map_select_scatter, "ScatterND")
QUENCH_REGISTER_ATEN("scatter_reduce", map_scatter_reduce, "ScatterElements")
QUENCH_REGISTER_ATEN("masked_scatter", map_masked_scatter, "CumSum, Concat, Gather, Where")
QUENCH_REGISTER_ATEN("nonzero", map_nonzero, "NonZero, Transpose")

}  // namespace quench

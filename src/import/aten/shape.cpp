// Changes of shape and layout: view, permute, expand, squeeze ... -> Reshape, Transpose, Expand, Tile, Squeeze.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

Value& self(const AtenCall& call) { return call.tensor("self"); }

Values map_view(AtenCall& call) {
  const bool retyped = call.has("dtype") && self(call).dtype() != call.dtype();
  QUENCH_CHECK(!retyped, call.where(), ": reading the bits as another type has no counterpart");
  return {&call.reshape(self(call), call.dim_integers(call.args.contains("shape") ? "shape" : "size"))};
}

Values map_view_as(AtenCall& call) { return {&call.reshape(self(call), call.sizes_of(call.tensor("other")))}; }

// Dims start..end become one, whose size follows from the others'.
Values map_flatten(AtenCall& call) {
  Value& x = self(call);
  const int rank = x.rank();
  if (rank == 0) return {&call.reshape(x, {AtenInt(1)})};
  const int start = call.axis("start_dim", rank, 0), end = call.axis("end_dim", rank, -1);
  if (start == end) return {&x};
  const std::vector<AtenInt> sizes = call.sizes_of(x);
  if (start == 1 && end == rank - 1) return {&call.make("Flatten", {&x}, {{"axis", std::int64_t{1}}})};
  std::vector<AtenInt> shape(sizes.begin(), sizes.begin() + start);
  shape.emplace_back(-1);
  shape.insert(shape.end(), sizes.begin() + end + 1, sizes.end());
  return {&call.reshape(x, shape)};
}

Values map_unflatten(AtenCall& call) {
  Value& x = self(call);
  const int axis = call.axis("dim", x.rank());
  std::vector<AtenInt> shape = call.sizes_of(x);
  const std::vector<AtenInt> parts = call.dim_integers("sizes");
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, parts.begin(), parts.end());
  return {&call.reshape(x, shape)};
}

Values transposed(AtenCall& call, const Ints& perm) {
  return {&call.make("Transpose", {&self(call)}, {{"perm", perm}})};
}

Values map_t(AtenCall& call) { return self(call).rank() < 2 ? Values{&self(call)} : transposed(call, {1, 0}); }

Values map_transpose(AtenCall& call) {
  const int rank = self(call).rank();
  if (rank == 0) return {&self(call)};
  Ints perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  const bool named = call.args.contains("axis0");
  std::swap(perm[static_cast<std::size_t>(call.axis(named ? "axis0" : "dim0", rank))],
            perm[static_cast<std::size_t>(call.axis(named ? "axis1" : "dim1", rank))]);
  return transposed(call, perm);
}

// Swaps the last two dims.
Values map_matrix_transpose(AtenCall& call) {
  const int rank = self(call).rank();
  QUENCH_CHECK(rank >= 2, call.where(), ": the tensor has fewer than two dims");
  Ints perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transposed(call, perm);
}

Values map_permute(AtenCall& call) {
  Ints perm = call.integers("dims");
  for (std::int64_t& axis : perm) axis += axis < 0 ? self(call).rank() : 0;
  return transposed(call, perm);
}

Values map_movedim(AtenCall& call) {
  const int rank = self(call).rank();
  Ints from = call.integers("source"), to = call.integers("destination");
  Ints perm(static_cast<std::size_t>(rank), -1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] += from[i] < 0 ? rank : 0;
    perm[static_cast<std::size_t>(to[i] < 0 ? to[i] + rank : to[i])] = from[i];
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : perm) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return transposed(call, perm);
}

Values map_squeeze(AtenCall& call) {
  Value& x = self(call);
  const Ints asked = call.axes("dim", x.rank());
  Ints axes;
  for (const std::int64_t axis : asked) {
    const Dim& dim = x.dims().at(static_cast<std::size_t>(axis));
    if (dim.is_number() && dim.number() == 1) axes.push_back(axis);  // others stay
  }
  if (axes.empty()) return {&x};
  return {&call.make("Squeeze", {&x, &call.integers_constant(axes)})};
}

Values map_unsqueeze(AtenCall& call) {
  return {&call.make("Unsqueeze", {&self(call), &call.integers_constant({call.axis("dim", self(call).rank() + 1)})})};
}

// -1 keeps the size; ONNX's 1 does, too, as it broadcasts both ways.
Values map_expand(AtenCall& call) {
  std::vector<AtenInt> sizes = call.dim_integers("size");
  for (AtenInt& size : sizes)
    if (size.is_number() && size.number == -1) size = AtenInt(1);
  return {&call.make("Expand", {&self(call), &call.shape_value(sizes)})};
}

Values map_expand_as(AtenCall& call) {
  return {&call.make("Expand", {&self(call), &call.shape_value(call.sizes_of(call.tensor("other")))})};
}

// Tile wants as many repeats as the input has dims.
Values map_repeat(AtenCall& call) {
  const std::vector<AtenInt> repeats = call.dim_integers(call.args.contains("dims") ? "dims" : "repeats");
  Value* x = &self(call);
  const int missing = static_cast<int>(repeats.size()) - x->rank();
  QUENCH_CHECK(missing >= 0, call.where(), ": fewer repeats than dims");
  if (missing > 0) {
    Ints axes(static_cast<std::size_t>(missing));
    std::iota(axes.begin(), axes.end(), 0);
    x = &call.aux("Unsqueeze", {x, &call.integers_constant(axes)});
  }
  return {&call.make("Tile", {x, &call.shape_value(repeats)})};
}

// What is the identity on values.
Values map_same(AtenCall& call) { return {&self(call)}; }

Values map_to(AtenCall& call) {
  Value& x = self(call);
  if (x.dtype() == call.dtype()) return {&x};
  return {&call.make("Cast", {&x}, {{"to", static_cast<std::int64_t>(call.dtype())}})};
}

}  // namespace

QUENCH_REGISTER_ATEN("view", map_view, "Reshape")
QUENCH_REGISTER_ATEN("reshape", map_view, "Reshape")
QUENCH_REGISTER_ATEN("_unsafe_view", map_view, "Reshape")
QUENCH_REGISTER_ATEN("view_as", map_view_as, "Reshape")
QUENCH_REGISTER_ATEN("reshape_as", map_view_as, "Reshape")
QUENCH_REGISTER_ATEN("flatten", map_flatten, "Flatten, Reshape")
QUENCH_REGISTER_ATEN("unflatten", map_unflatten, "Reshape")
QUENCH_REGISTER_ATEN("t", map_t, "Transpose")
QUENCH_REGISTER_ATEN("transpose", map_transpose, "Transpose")
QUENCH_REGISTER_ATEN("swapaxes", map_transpose, "Transpose")
QUENCH_REGISTER_ATEN("swapdims", map_transpose, "Transpose")
QUENCH_REGISTER_ATEN("mT", map_matrix_transpose, "Transpose")
QUENCH_REGISTER_ATEN("permute", map_permute, "Transpose")
QUENCH_REGISTER_ATEN("movedim", map_movedim, "Transpose")
QUENCH_REGISTER_ATEN("squeeze", map_squeeze, "Squeeze")
QUENCH_REGISTER_ATEN("unsqueeze", map_unsqueeze, "Unsqueeze")
QUENCH_REGISTER_ATEN("expand", map_expand, "Expand")
QUENCH_REGISTER_ATEN("broadcast_to", map_expand, "Expand")
QUENCH_REGISTER_ATEN("expand_as", map_expand_as, "Expand")
QUENCH_REGISTER_ATEN("repeat", map_repeat, "Tile")
QUENCH_REGISTER_ATEN("tile", map_repeat, "Tile")
QUENCH_REGISTER_ATEN("contiguous", map_same, "the identity")
QUENCH_REGISTER_ATEN("clone", map_same, "the identity")
QUENCH_REGISTER_ATEN("detach", map_same, "the identity")
QUENCH_REGISTER_ATEN("alias", map_same, "the identity")
QUENCH_REGISTER_ATEN("lift_fresh", map_same, "the identity")
QUENCH_REGISTER_ATEN("lift_fresh_copy", map_same, "the identity")
QUENCH_REGISTER_ATEN("to", map_to, "Cast")
QUENCH_REGISTER_ATEN("type_as", map_to, "Cast")
QUENCH_REGISTER_ATEN("_to_copy", map_to, "Cast")

}  // namespace quench

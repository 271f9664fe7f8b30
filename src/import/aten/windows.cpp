// Windows of a tensor laid side by side, and lists of tensors given one shape: unfold, im2col, meshgrid, hstack ...
#include <ATen/ATen.h>

#include <numeric>

#include "import/aten/sizes.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

Value& self(const AtenCall& call) { return call.tensor("self"); }

// Where the windows of `size` elements lie, `apart` elements apart in themselves and `step` from each other: [windows,
// size].
at::Tensor places(const AtenCall& call, std::int64_t length, std::int64_t size, std::int64_t step, std::int64_t apart) {
  const std::int64_t span = (size - 1) * apart + 1;
  QUENCH_CHECK(size > 0 && step > 0 && apart > 0 && span <= length, call.where(), ": windows of ", span, " steps of ",
               step, " in ", length);
  const at::Tensor starts = at::arange(0, length - span + 1, step, at::kLong).unsqueeze(1);
  return starts + at::arange(0, size * apart, apart, at::kLong);
}

// The windows take the axis' place, their elements go last.
Values map_unfold(AtenCall& call) {
  Value& x = self(call);
  const int rank = x.rank(), axis = call.axis("dimension", rank);
  const at::Tensor at = places(call, fixed_size(call, x, axis), call.integer("size"), call.integer("step"), 1);
  Value& read = call.aux("Gather", {&x, &call.constant(at)}, {{"axis", std::int64_t{axis}}});
  Ints perm;
  for (int i = 0; i <= rank; ++i)
    if (i != axis + 1) perm.push_back(i);
  perm.push_back(axis + 1);
  return {&call.make("Transpose", {&read}, {{"perm", perm}})};
}

// [N, C, H, W] -> [N, C * kernel, windows]
Values map_im2col(AtenCall& call) {
  Value* x = &self(call);
  QUENCH_CHECK(x->rank() == 4, call.where(), ": only batches of images are supported");
  const Ints kernel = call.integers("kernel_size"), dilation = call.integers("dilation");
  const Ints padding = call.integers("padding"), stride = call.integers("stride");
  QUENCH_CHECK(kernel.size() == 2 && dilation.size() == 2 && padding.size() == 2 && stride.size() == 2, call.where(),
               ": kernel, dilation, padding and stride must be pairs");
  const std::int64_t channels = fixed_size(call, *x, 1);
  const Ints pads{0, 0, padding[0], padding[1], 0, 0, padding[0], padding[1]};
  x = &call.aux("Pad", {x, &call.integers_constant(pads)});
  for (int i = 0; i < 2; ++i) {  // [N, C, H, W] -> [N, C, rows, kernel, W] -> [N, C, rows, kernel, columns, kernel]
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t length = fixed_size(call, self(call), 2 + i) + 2 * padding[at];
    Value& windows = call.constant(places(call, length, kernel[at], stride[at], dilation[at]));
    x = &call.aux("Gather", {x, &windows}, {{"axis", std::int64_t{2 + 2 * i}}});
  }
  Value& turned = call.transpose(*x, {0, 1, 3, 5, 2, 4});
  return {&call.make("Reshape", {&turned, &call.integers_constant({0, channels * kernel[0] * kernel[1], -1})})};
}

// Each of the vectors along an axis of its own.
Values map_meshgrid(AtenCall& call) {
  const Values vectors = call.tensors("tensors");
  const std::size_t count = vectors.size();
  Ints order(count);
  std::iota(order.begin(), order.end(), 0);
  if (call.text("indexing", "ij") == "xy" && count > 1) std::swap(order[0], order[1]);
  std::vector<AtenInt> sizes(count);
  for (std::size_t i = 0; i < count; ++i) {
    QUENCH_CHECK(vectors[i]->rank() == 1, call.where(), ": only vectors are supported");
    sizes[static_cast<std::size_t>(order[i])] = call.sizes_of(*vectors[i])[0];
  }
  Values results;
  for (std::size_t i = 0; i < count; ++i) {
    Ints axes;
    for (std::size_t axis = 0; axis < count; ++axis)
      if (static_cast<std::int64_t>(axis) != order[i]) axes.push_back(static_cast<std::int64_t>(axis));
    Value& lone = axes.empty() ? *vectors[i] : call.aux("Unsqueeze", {vectors[i], &call.integers_constant(axes)});
    results.push_back(&call.make("Expand", {&lone, &call.shape_value(sizes)}));
  }
  return results;
}

Values map_broadcast_tensors(AtenCall& call) {
  const Values tensors = call.tensors("tensors");
  Value* shape = &call.aux("Shape", {tensors.at(0)});
  for (std::size_t i = 1; i < tensors.size(); ++i) {  // Expand broadcasts both ways
    Value& wide = call.aux("Expand", {tensors[i], shape});
    shape = &call.aux("Shape", {&wide});
  }
  Values results;
  for (Value* tensor : tensors) results.push_back(&call.make("Expand", {tensor, shape}));
  return results;
}

Values map_hstack(AtenCall& call) {
  const Values tensors = call.tensors("tensors");
  const int rank = tensors.at(0)->rank();
  QUENCH_CHECK(rank > 0, call.where(), ": scalars have no counterpart");
  return {&call.make("Concat", tensors, {{"axis", std::int64_t{rank > 1 ? 1 : 0}}})};
}

Values map_reversed_axes(AtenCall& call) {
  Ints perm(static_cast<std::size_t>(self(call).rank()));
  std::iota(perm.rbegin(), perm.rend(), 0);
  return {&call.make("Transpose", {&self(call)}, {{"perm", perm}})};
}

Values map_take_along_dim(AtenCall& call) {
  QUENCH_CHECK(call.has("dim"), call.where(), ": the form without dim is not supported");
  return {&call.make("GatherElements", {&self(call), &call.tensor("indices")},
                     {{"axis", std::int64_t{call.axis("dim", self(call).rank())}}})};
}

}  // namespace

QUENCH_REGISTER_ATEN("unfold", map_unfold, "Gather, Transpose")
QUENCH_REGISTER_ATEN("im2col", map_im2col, "Pad, Gather, Transpose, Reshape")
QUENCH_REGISTER_ATEN("meshgrid", map_meshgrid, "Unsqueeze, Expand")
QUENCH_REGISTER_ATEN("broadcast_tensors", map_broadcast_tensors, "Shape, Expand")
QUENCH_REGISTER_ATEN("hstack", map_hstack, "Concat")
QUENCH_REGISTER_ATEN("numpy_T", map_reversed_axes, "Transpose")
QUENCH_REGISTER_ATEN("take_along_dim", map_take_along_dim, "GatherElements")

}  // namespace quench

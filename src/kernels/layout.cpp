#include "kernels/layout.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace quench {
namespace {

// Dimensions from the outermost in memory to the innermost. Of equal strides the one with one element is outer.
std::vector<int> memory_order(const at::Tensor& x) {
  std::vector<int> order(static_cast<std::size_t>(x.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (x.stride(a) != x.stride(b)) return x.stride(a) > x.stride(b);
    return x.size(a) < x.size(b);
  });
  return order;
}

}  // namespace

at::Tensor dense(const at::Tensor& x) { return x.is_non_overlapping_and_dense() ? x : x.contiguous(); }

Layout layout_of(const at::Tensor& x, const QScheme& scheme) {
  if (scheme.per_tensor()) return {1, 1, x.numel()};
  const int axis = scheme.axis_of(static_cast<int>(x.dim()));
  if (scheme.granularity() == Granularity::kGroup) return {1, x.numel() / scheme.group(), scheme.group()};
  Layout layout{1, x.size(axis), 1};
  bool after = false;
  for (const int dim : memory_order(x)) {
    if (dim == axis)
      after = true;
    else
      (after ? layout.inner : layout.outer) *= x.size(dim);
  }
  return layout;
}

bool needs_move(const at::Tensor& x, const QScheme& scheme) {
  if (scheme.granularity() != Granularity::kGroup) return false;
  return !x.is_contiguous() || scheme.axis_of(static_cast<int>(x.dim())) != x.dim() - 1;
}

at::Tensor axis_to_end(const at::Tensor& x, const QScheme& scheme) {
  return x.movedim(scheme.axis_of(static_cast<int>(x.dim())), -1).contiguous();
}

at::Tensor axis_from_end(const at::Tensor& x, const QScheme& scheme) {
  return x.movedim(-1, scheme.axis_of(static_cast<int>(x.dim())));
}

at::Tensor spread_scales(const at::Tensor& scale, const at::Tensor& x, const QScheme& scheme) {
  if (scale.numel() == 1) return scale.reshape({});
  const int axis = scheme.axis_of(static_cast<int>(x.dim()));
  if (scheme.granularity() == Granularity::kGroup) return at::repeat_interleave(scale, scheme.group(), axis);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = scale.numel();
  return scale.reshape(shape);
}

}  // namespace quench

#include "kernels/entries.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {
namespace {

bool axis_is_inside(const at::Tensor& x, const QScheme& scheme) {
  return scheme.granularity() == Granularity::kGroup && scheme.axis_of(static_cast<int>(x.dim())) != x.dim() - 1;
}

}  // namespace

at::Tensor laid_out(const at::Tensor& x, const QScheme& scheme) {
  QUENCH_CHECK(x.scalar_type() == at::kFloat, "statistics are taken of float32, not of ", x.scalar_type());
  const at::Tensor data = x.cpu();
  if (scheme.granularity() == Granularity::kGroup) (void)scheme.scale_shape(x.sizes().vec());  // the sizes fit
  return needs_move(data, scheme) ? axis_to_end(data, scheme) : dense(data);
}

Layout entry_layout(const at::Tensor& laid, const QScheme& scheme) {
  // Groups lie along the last axis here, whichever axis the scheme names.
  if (scheme.granularity() == Granularity::kGroup) return {1, laid.numel() / scheme.group(), scheme.group()};
  return layout_of(laid, scheme);
}

at::Tensor entry_rows(const at::Tensor& laid, const QScheme& scheme) {
  const Layout layout = entry_layout(laid, scheme);
  const at::Tensor flat =
      laid.as_strided({layout.outer, layout.channels, layout.inner}, {layout.channels * layout.inner, layout.inner, 1});
  return flat.transpose(0, 1).reshape({layout.channels, layout.outer * layout.inner}).contiguous();
}

at::Tensor to_scale_order(const at::Tensor& rows, const at::Tensor& x, const QScheme& scheme) {
  if (!axis_is_inside(x, scheme)) return rows;
  std::vector<std::int64_t> moved = scheme.scale_shape(x.sizes().vec());
  const int axis = scheme.axis_of(static_cast<int>(x.dim()));
  const std::int64_t along = moved[static_cast<std::size_t>(axis)];
  moved.erase(moved.begin() + axis);
  moved.push_back(along);
  moved.push_back(-1);  // the columns of a row
  return rows.reshape(moved).movedim(static_cast<std::int64_t>(moved.size()) - 2, axis).reshape(rows.sizes());
}

at::Tensor from_scale_order(const at::Tensor& rows, const at::Tensor& x, const QScheme& scheme) {
  if (!axis_is_inside(x, scheme)) return rows;
  std::vector<std::int64_t> shape = scheme.scale_shape(x.sizes().vec());
  const int axis = scheme.axis_of(static_cast<int>(x.dim()));
  shape.push_back(-1);
  return rows.reshape(shape).movedim(axis, static_cast<std::int64_t>(shape.size()) - 2).reshape(rows.sizes());
}

}  // namespace quench

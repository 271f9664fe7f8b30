// DeformConv: a convolution whose kernel looks at places moved by offsets; two spatial dims.
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/macs.h"
#include "ops/shape_rules.h"
#include "ops/window.h"
#include "quench/error.h"

namespace quench {
namespace {

// Where each tap looks, in LibTorch's coordinates (-1 to 1 over the pixels' outer edges):
// [N * groups, taps * rows, columns, 2], x before y.
at::Tensor sampling_grid(const at::Tensor& x, const at::Tensor& offset, const Window& window, std::int64_t groups) {
  const std::int64_t taps = window.kernel[0] * window.kernel[1], rows = offset.size(2), columns = offset.size(3);
  const at::Tensor moved = offset.reshape({x.size(0) * groups, taps, 2, rows, columns});
  const auto options = x.options().requires_grad(false);
  const auto along = [&](std::size_t axis, std::int64_t count) {
    const auto base = at::arange(count, options) * window.strides[axis] - window.begin[axis];
    return std::pair{base, at::arange(window.kernel[axis], options) * window.dilations[axis]};
  };
  const auto [row_base, row_tap] = along(0, rows);
  const auto [column_base, column_tap] = along(1, columns);
  const at::Tensor tap_y = row_tap.repeat_interleave(window.kernel[1]), tap_x = column_tap.repeat({window.kernel[0]});
  const at::Tensor y = moved.select(2, 0) + tap_y.reshape({taps, 1, 1}) + row_base.reshape({rows, 1});
  const at::Tensor at_x = moved.select(2, 1) + tap_x.reshape({taps, 1, 1}) + column_base;
  const auto normal = [](const at::Tensor& position, std::int64_t size) {
    return (position * 2 + 1) / static_cast<double>(size) - 1;
  };
  return at::stack({normal(at_x, x.size(3)), normal(y, x.size(2))}, -1).reshape({-1, taps * rows, columns, 2});
}

// X, W, offset, bias, mask
std::vector<RtValue> deform_conv(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &w = in[1].tensor(), &offset = in[2].tensor();
  QUENCH_CHECK(x.dim() == 4 && w.dim() == 4 && offset.dim() == 4, node.where(),
               ": only two spatial dims are supported; data, weight and offset must have rank 4");
  const Window window = window_of(node, spatial_sizes(w));
  const std::int64_t groups = node.get_int("group", 1), offset_groups = node.get_int("offset_group", 1);
  const std::int64_t taps = window.kernel[0] * window.kernel[1], channels = x.size(1);
  const std::int64_t rows = offset.size(2), columns = offset.size(3);
  QUENCH_CHECK(offset_groups > 0 && channels % offset_groups == 0 && offset.size(1) == offset_groups * taps * 2,
               node.where(), ": offset must have ", offset_groups * taps * 2, " channels, it has ", offset.size(1));
  const at::Tensor grouped = x.reshape({-1, channels / offset_groups, x.size(2), x.size(3)});
  at::Tensor sampled = at::grid_sampler(grouped, sampling_grid(x, offset, window, offset_groups), /*bilinear*/ 0,
                                        /*zeros*/ 0, /*align_corners=*/false);
  sampled = sampled.reshape({x.size(0), offset_groups, channels / offset_groups, taps, rows * columns});
  if (given(in, 4)) sampled = sampled * in[4].tensor().reshape({x.size(0), offset_groups, 1, taps, rows * columns});
  const at::Tensor patches = sampled.reshape({x.size(0), groups, channels / groups * taps, rows * columns});
  const at::Tensor weight = w.reshape({groups, w.size(0) / groups, -1});
  const at::Tensor y = at::matmul(weight, patches).reshape({x.size(0), w.size(0), rows, columns});
  return {given(in, 3) ? y + per_channel(in[3].tensor(), 4) : y};
}

void deform_conv_shapes(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), w = input_dims(node, 1), offset = input_dims(node, 2);
  Dims y(4);
  if (x && !x->empty()) y[0] = (*x)[0];
  if (w && !w->empty()) y[1] = (*w)[0];
  for (std::size_t i = 2; offset && offset->size() == 4 && i < 4; ++i) y[i] = (*offset)[i];
  set_type(node, 0, input_dtype(node, 0), y);
}

int first_axis(const Node&) { return 0; }

OpTraits deform_conv_traits() {
  OpTraits traits;
  traits.weight_slot = 1;
  traits.bias_slot = 3;
  traits.weight_axis = first_axis;
  traits.parameter_slots = {1, 3};
  traits.macs = unknown_macs;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("DeformConv", deform_conv, deform_conv_shapes, deform_conv_traits(),
                   "convolution at places moved by offsets")

}  // namespace quench

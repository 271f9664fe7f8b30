// Pooling over sliding windows (one to three spatial dims) and over whole planes.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "ops/arguments.h"
#include "ops/moving.h"
#include "ops/shape_rules.h"
#include "ops/window.h"
#include "quench/error.h"

namespace quench {
namespace {

Window pool_window(const Node& node, const at::Tensor& x) {
  QUENCH_CHECK(x.dim() >= 3 && x.dim() <= 5, node.where(), ": data must have rank 3 to 5, not ", x.dim());
  Window window = window_of(node);
  window.resolve(spatial_sizes(x));
  if (window.is_same()) window.ceil_mode = false;  // SAME fixes the size
  return window;
}

// LibTorch's own pools take equal pads of at most half the window.
bool has_direct_form(const Window& window) {
  if (!window.is_symmetric()) return false;
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    if (window.begin[i] < 0 || window.begin[i] > window.kernel[i] / 2) return false;
  return true;
}

// The end pads with which the window positions of `window` are exactly those that a plain pool finds.
std::vector<std::int64_t> exact_end(const Window& window, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> end;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    end.push_back((window.output_size(i, sizes[i]) - 1) * window.strides[i] + window.extent(i) - sizes[i] -
                  window.begin[i]);
  return end;
}

at::Tensor max_pool_plain(const at::Tensor& x, const Window& window, const std::vector<std::int64_t>& pads) {
  const auto &k = window.kernel, &s = window.strides, &d = window.dilations;
  if (window.rank() == 1) return at::max_pool1d(x, k, s, pads, d, window.ceil_mode);
  if (window.rank() == 2) return at::max_pool2d(x, k, s, pads, d, window.ceil_mode);
  return at::max_pool3d(x, k, s, pads, d, window.ceil_mode);
}

std::tuple<at::Tensor, at::Tensor> max_pool_indices(const at::Tensor& x, const Window& window,
                                                    const std::vector<std::int64_t>& pads) {
  const auto &k = window.kernel, &s = window.strides, &d = window.dilations;
  if (window.rank() == 1) return at::max_pool1d_with_indices(x, k, s, pads, d, window.ceil_mode);
  if (window.rank() == 2) return at::max_pool2d_with_indices(x, k, s, pads, d, window.ceil_mode);
  return at::max_pool3d_with_indices(x, k, s, pads, d, window.ceil_mode);
}

// LibTorch's index lies in the (padded) plane; ONNX's in the whole unpadded tensor, the plane's dims in
// row-major order, or column-major with storage_order 1.
at::Tensor tensor_indices(at::Tensor index, const at::Tensor& x, at::IntArrayRef padded,
                          const std::vector<std::int64_t>& begin, bool column_major) {
  const std::vector<std::int64_t> sizes = spatial_sizes(x);
  at::Tensor result = at::zeros_like(index);
  std::int64_t plane = 1;
  for (std::int64_t size : sizes) plane *= size;
  std::int64_t row_stride = 1, column_stride = plane;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::int64_t padded_size = padded[static_cast<std::size_t>(i + 2)];
    const at::Tensor position = index.remainder(padded_size) - begin[i];
    index = index.floor_divide(padded_size);
    column_stride /= sizes[i];
    result = result + position * (column_major ? column_stride : row_stride);
    row_stride *= sizes[i];
  }
  const at::Tensor planes = at::arange(x.size(0) * x.size(1), index.options()) * plane;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  return result + planes.reshape(shape);
}

std::vector<RtValue> max_pool(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& given_x = in[0].tensor();
  const bool integer = !given_x.is_floating_point();
  const at::Tensor x = integer ? given_x.to(at::kFloat) : given_x;  // bytes are exact in float
  Window window = pool_window(node, x);
  std::vector<std::int64_t> pads = window.begin, begin(pads.size(), 0);
  at::Tensor data = x;
  if (!has_direct_form(window)) {
    data = pad_spatial(x, window.begin, exact_end(window, spatial_sizes(x)), -std::numeric_limits<double>::infinity());
    begin = window.begin;
    pads.assign(pads.size(), 0);
    window.ceil_mode = false;
  }
  const auto back = [&](const at::Tensor& y) { return integer ? y.to(given_x.scalar_type()) : y; };
  if (!wants_output(node, 1)) return {back(max_pool_plain(data, window, pads))};
  const auto [y, index] = max_pool_indices(data, window, pads);
  return {back(y), tensor_indices(index, x, data.sizes(), begin, node.get_int("storage_order", 0) != 0)};
}

// Sum over each window; every plane apart. Takes dilations, which LibTorch's average pools do not.
at::Tensor window_sum(const at::Tensor& padded, const Window& window) {
  std::vector<std::int64_t> shape{-1, 1}, kernel{1, 1}, none(window.kernel.size(), 0);
  shape.insert(shape.end(), padded.sizes().begin() + 2, padded.sizes().end());
  kernel.insert(kernel.end(), window.kernel.begin(), window.kernel.end());
  const at::Tensor y = at::convolution(padded.reshape(shape), at::ones(kernel, padded.options()), std::nullopt,
                                       window.strides, none, window.dilations, false, none, 1);
  std::vector<std::int64_t> result{padded.size(0), padded.size(1)};
  result.insert(result.end(), y.sizes().begin() + 2, y.sizes().end());
  return y.reshape(result);
}

bool is_dilated(const Window& window) {
  return std::any_of(window.dilations.begin(), window.dilations.end(), [](std::int64_t d) { return d != 1; });
}

at::Tensor average_general(const at::Tensor& x, const Window& window, bool count_pads) {
  const std::vector<std::int64_t> end = exact_end(window, spatial_sizes(x));
  const at::Tensor sum = window_sum(pad_spatial(x, window.begin, end, 0.0), window);
  std::vector<std::int64_t> plane{1, 1};
  for (std::int64_t size : spatial_sizes(x)) plane.push_back(size);
  at::Tensor counted = at::ones(plane, x.options());
  if (!count_pads) return sum / window_sum(pad_spatial(counted, window.begin, end, 0.0), window);
  // Pads count; what ceil_mode adds beyond them does not.
  std::vector<std::int64_t> beyond, none(end.size(), 0);
  for (std::size_t i = 0; i < end.size(); ++i) beyond.push_back(end[i] - window.end[i]);
  counted = pad_spatial(counted, window.begin, window.end, 1.0);
  return sum / window_sum(pad_spatial(counted, none, beyond, 0.0), window);
}

std::vector<RtValue> average_pool(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const Window window = pool_window(node, x);
  const bool count_pads = node.get_int("count_include_pad", 0) != 0;
  if (is_dilated(window) || !has_direct_form(window)) return {average_general(x, window, count_pads)};
  const auto &k = window.kernel, &s = window.strides, &p = window.begin;
  if (window.rank() == 1) return {at::avg_pool1d(x, k, s, p, window.ceil_mode, count_pads)};
  if (window.rank() == 2) return {at::avg_pool2d(x, k, s, p, window.ceil_mode, count_pads)};
  return {at::avg_pool3d(x, k, s, p, window.ceil_mode, count_pads)};
}

std::vector<RtValue> lp_pool(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const Window window = pool_window(node, x);
  const auto p = static_cast<double>(node.get_int("p", 2));
  const at::Tensor powers = pad_spatial(at::abs(x).pow(p), window.begin, exact_end(window, spatial_sizes(x)), 0.0);
  return {window_sum(powers, window).pow(1.0 / p)};
}

std::vector<std::int64_t> spatial_axes(const at::Tensor& x) {
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 2; i < x.dim(); ++i) axes.push_back(i);
  return axes;
}

std::vector<RtValue> global_average_pool(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  if (x.dim() == 4) return {at::adaptive_avg_pool2d(x, {1, 1})};  // keeps the channels-last layout
  return {x.dim() > 2 ? x.mean(spatial_axes(x), true) : x};
}

std::vector<RtValue> global_max_pool(const Node&, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  return {x.dim() > 2 ? x.amax(spatial_axes(x), true) : x};
}

std::vector<RtValue> global_lp_pool(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const auto p = static_cast<double>(node.get_int("p", 2));
  return {at::abs(x).pow(p).sum(spatial_axes(x), true).pow(1.0 / p)};
}

void pool_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  if (dims) {
    const Window window = window_of(node);
    QUENCH_CHECK(window.kernel.size() + 2 == dims->size(), node.where(), ": a kernel of rank ", window.kernel.size(),
                 " on data of the shape ", text_of(*dims));
    for (std::size_t i = 0; i < window.kernel.size(); ++i) (*dims)[i + 2] = window.output_dim(i, (*dims)[i + 2]);
  }
  set_type(node, 0, input_dtype(node, 0), dims);
  set_type(node, 1, DType::kInt64, dims);
}

void global_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  for (std::size_t i = 2; dims && i < dims->size(); ++i) (*dims)[i] = Dim(1);
  set_type(node, 0, input_dtype(node, 0), dims);
}

OpTraits average_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

OpTraits norm_traits() {
  OpTraits traits;
  traits.non_negative = true;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("MaxPool", max_pool, pool_shapes, moving(), "largest element of each window")
QUENCH_REGISTER_OP("AveragePool", average_pool, pool_shapes, average_traits(), "mean of each window")
QUENCH_REGISTER_OP("LpPool", lp_pool, pool_shapes, norm_traits(), "p-norm of each window")
QUENCH_REGISTER_OP("GlobalAveragePool", global_average_pool, global_shapes, average_traits(), "mean of each plane")
QUENCH_REGISTER_OP("GlobalMaxPool", global_max_pool, global_shapes, moving(), "largest element of each plane")
QUENCH_REGISTER_OP("GlobalLpPool", global_lp_pool, global_shapes, norm_traits(), "p-norm of each plane")

}  // namespace quench

#include "ops/window.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "quench/error.h"

namespace quench {
namespace {

std::int64_t divide_down(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
std::int64_t divide_up(std::int64_t a, std::int64_t b) { return -divide_down(-a, b); }

}  // namespace

void Window::resolve(const std::vector<std::int64_t>& sizes) {
  QUENCH_CHECK(sizes.size() == kernel.size(), "a window of rank ", kernel.size(), " on data with ", sizes.size(),
               " spatial dims");
  if (!is_same()) return;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t count = divide_up(sizes[i], strides[i]);
    const std::int64_t total = std::max<std::int64_t>((count - 1) * strides[i] + extent(i) - sizes[i], 0);
    begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    end[i] = total - begin[i];
  }
}

std::int64_t Window::output_size(std::size_t axis, std::int64_t size) const {
  const std::int64_t room = size + begin[axis] + end[axis] - extent(axis);
  QUENCH_CHECK(room >= 0, "a window of ", extent(axis), " does not fit into ", size, " with pads ", begin[axis],
               " and ", end[axis]);
  if (!ceil_mode || is_same()) return room / strides[axis] + 1;
  const std::int64_t count = divide_up(room, strides[axis]) + 1;
  // A window that would start in the end pad is not counted.
  return (count - 1) * strides[axis] >= size + begin[axis] ? count - 1 : count;
}

Dim Window::output_dim(std::size_t axis, const Dim& dim) const {
  if (dim.is_number()) {
    Window resolved = *this;
    std::vector<std::int64_t> sizes(kernel.size(), 1);
    sizes[axis] = dim.number();
    resolved.resolve(sizes);
    return Dim(resolved.output_size(axis, dim.number()));
  }
  // (stride*n + pads - extent) / stride + 1 = n whenever the rest, rounded, is -1.
  const Dim positions = divide_exactly(dim, Dim(strides[axis]));
  if (is_same()) return positions;
  const std::int64_t rest = begin[axis] + end[axis] - extent(axis);
  const std::int64_t rounded = ceil_mode ? divide_up(rest, strides[axis]) : divide_down(rest, strides[axis]);
  return rounded == -1 ? positions : Dim();
}

Window window_of(const Node& node, std::vector<std::int64_t> kernel) {
  Window window;
  window.kernel = node.get_ints("kernel_shape", std::move(kernel));
  const std::size_t rank = window.kernel.size();
  QUENCH_CHECK(rank > 0, node.where(), ": kernel_shape is missing");
  window.strides = node.get_ints("strides", std::vector<std::int64_t>(rank, 1));
  window.dilations = node.get_ints("dilations", std::vector<std::int64_t>(rank, 1));
  const std::vector<std::int64_t> pads = node.get_ints("pads", std::vector<std::int64_t>(2 * rank, 0));
  QUENCH_CHECK(window.strides.size() == rank && window.dilations.size() == rank && pads.size() == 2 * rank,
               node.where(), ": for a kernel of rank ", rank, " there must be as many strides and dilations and twice ",
               "as many pads, not ", window.strides.size(), ", ", window.dilations.size(), " and ", pads.size());
  for (const auto* list : {&window.kernel, &window.strides, &window.dilations})
    for (std::int64_t number : *list)
      QUENCH_CHECK(number > 0 && number <= kLargestStep, node.where(), ": kernel, strides and dilations go from 1 to ",
                   kLargestStep, "; here one is ", number);
  for (std::int64_t pad : pads)
    QUENCH_CHECK(pad >= -kLargestStep && pad <= kLargestStep, node.where(), ": a pad of ", pad,
                 " is larger than any window");
  window.auto_pad = node.get_string("auto_pad", "NOTSET");
  QUENCH_CHECK(window.is_same() || window.auto_pad == "NOTSET" || window.auto_pad == "VALID", node.where(),
               ": unknown auto_pad '", window.auto_pad, "'; known: NOTSET, VALID, SAME_UPPER, SAME_LOWER");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.begin.assign(pads.begin(), middle);
  window.end.assign(middle, pads.end());
  if (window.auto_pad != "NOTSET") {
    window.begin.assign(rank, 0);
    window.end.assign(rank, 0);
  }
  window.ceil_mode = node.get_int("ceil_mode", 0) != 0;
  return window;
}

std::vector<std::int64_t> spatial_sizes(const at::Tensor& tensor) {
  QUENCH_CHECK(tensor.dim() > 2, "expected data [N, C, spatial...], found rank ", tensor.dim());
  return tensor.sizes().slice(2).vec();
}

at::Tensor pad_spatial(const at::Tensor& input, const std::vector<std::int64_t>& begin,
                       const std::vector<std::int64_t>& end, double value) {
  std::vector<std::int64_t> pads;  // LibTorch lists the last dim first
  for (std::size_t i = begin.size(); i-- > 0;) {
    pads.push_back(begin[i]);
    pads.push_back(end[i]);
  }
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; })) return input;
  return at::constant_pad_nd(input, pads, value);
}

}  // namespace quench

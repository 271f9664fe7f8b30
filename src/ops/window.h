// Sliding windows of convolutions and pools: kernel, strides, dilations and pads, with auto_pad resolved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Of kernels, strides, dilations and pads: products of two still fit their type.
inline constexpr std::int64_t kLargestStep = std::int64_t{1} << 30;

struct Window {
  std::vector<std::int64_t> kernel, strides, dilations;
  std::vector<std::int64_t> begin, end;  // pads
  std::string auto_pad;                  // NOTSET, VALID, SAME_UPPER or SAME_LOWER
  bool ceil_mode = false;

  int rank() const { return static_cast<int>(kernel.size()); }
  std::int64_t extent(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
  bool is_symmetric() const { return begin == end; }
  // Sets the pads that auto_pad asks for, for these spatial sizes; keeps explicit ones.
  void resolve(const std::vector<std::int64_t>& sizes);
  // After resolve(): how many window positions fit.
  std::int64_t output_size(std::size_t axis, std::int64_t size) const;
  // The same for a dim that may be a symbol; unknown where it cannot be written.
  Dim output_dim(std::size_t axis, const Dim& dim) const;
};

// Reads a node's attributes; `kernel` stands in for an absent kernel_shape. Throws, naming the node, when
// the lists do not fit each other.
Window window_of(const Node& node, std::vector<std::int64_t> kernel = {});
// The spatial sizes of a tensor [N, C, spatial...].
std::vector<std::int64_t> spatial_sizes(const at::Tensor& tensor);
// Pads spatial dims with `value` (negative pads crop); the input itself where all are zero.
at::Tensor pad_spatial(const at::Tensor& input, const std::vector<std::int64_t>& begin,
                       const std::vector<std::int64_t>& end, double value);

}  // namespace quench

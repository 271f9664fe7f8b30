// How a dense tensor and the scales of its scheme lie in memory: element (o, c, i) at (o * channels + c) * inner
// + i uses scale c. Per tensor: 1 x 1 x numel. Channels-last data has inner = 1, a Conv's weight outer = 1.
#pragma once

#include "quench/quant.h"

namespace at {
class Tensor;
}

namespace quench {

struct Layout {
  std::int64_t outer = 1, channels = 1, inner = 1;
  std::int64_t numel() const { return outer * channels * inner; }
};

// x itself where it is dense (in any order of strides); else a contiguous copy.
at::Tensor dense(const at::Tensor& x);
// Of a dense tensor. Groups along an axis that is not the last one in memory are not laid out this way: see
// grouped_last().
Layout layout_of(const at::Tensor& x, const QScheme& scheme);

// Groups are worked on with their axis last: x and its scales moved there, results moved back.
bool needs_move(const at::Tensor& x, const QScheme& scheme);
at::Tensor axis_to_end(const at::Tensor& x, const QScheme& scheme);
at::Tensor axis_from_end(const at::Tensor& x, const QScheme& scheme);

// Scales (or zero points) with the rank of x, for arithmetic that broadcasts.
at::Tensor spread_scales(const at::Tensor& scale, const at::Tensor& x, const QScheme& scheme);

}  // namespace quench

// The entries of a scheme (one per scale) over a tensor: the data in the order that layout_of() describes, and
// results back in the order of scale_shape().
#pragma once

#include "kernels/layout.h"

namespace at {
class Tensor;
}

namespace quench {

// Float32, dense, on the CPU; groups with their axis last. layout_of() holds for it with entries in the order of
// memory.
at::Tensor laid_out(const at::Tensor& x, const QScheme& scheme);
Layout entry_layout(const at::Tensor& laid, const QScheme& scheme);

// {entries, elements of an entry}, contiguous: for what is processed one entry at a time. Copies if an entry
// is not contiguous.
at::Tensor entry_rows(const at::Tensor& laid, const QScheme& scheme);

// One row per entry: from the order of laid_out(x) to the order of the scales, and the reverse. Only groups
// whose axis is not the last differ.
at::Tensor to_scale_order(const at::Tensor& rows, const at::Tensor& x, const QScheme& scheme);
at::Tensor from_scale_order(const at::Tensor& rows, const at::Tensor& x, const QScheme& scheme);

// visit(entry, value) for every element.
template <typename Visit>
void for_each_element(const float* data, const Layout& layout, Visit visit) {
  for (std::int64_t o = 0; o < layout.outer; ++o)
    for (std::int64_t c = 0; c < layout.channels; ++c)
      for (std::int64_t i = 0; i < layout.inner; ++i) visit(c, *data++);
}

}  // namespace quench

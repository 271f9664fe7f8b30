#include "ops/index_rules.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {

at::Tensor wrapped_indices(const at::Tensor& indices, std::int64_t size) {
  const at::Tensor wide = indices.to(at::kLong);
  if (wide.numel() == 0) return wide;
  // On a GPU checking would stall the stream; LibTorch's kernels check there.
  if (!wide.is_cpu()) return at::where(wide.lt(0), wide + size, wide);
  const auto [low, high] = wide.aminmax();
  const auto least = low.item<std::int64_t>(), greatest = high.item<std::int64_t>();
  QUENCH_CHECK(least >= -size && greatest < size, "index ", greatest < size ? least : greatest,
               " is out of range for a dim of size ", size);
  return least < 0 ? at::where(wide.lt(0), wide + size, wide) : wide;
}

}  // namespace quench

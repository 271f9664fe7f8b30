#include "graph/tensor_extent.h"

namespace quench {

bool fits_storage(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int64_t offset,
                  std::int64_t available) {
  if (sizes.size() != strides.size() || offset < 0 || available < 0) return false;
  unsigned __int128 last = static_cast<unsigned __int128>(offset);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0 || __builtin_mul_overflow(count, sizes[i], &count)) return false;
    if (sizes[i] > 0) last += static_cast<unsigned __int128>(sizes[i] - 1) * static_cast<std::uint64_t>(strides[i]);
  }
  return count <= available && (count == 0 || last < static_cast<unsigned __int128>(available));
}

}  // namespace quench

// Whether a tensor that a file describes lies inside its storage.
#pragma once

#include <cstdint>
#include <span>

namespace quench {

// Sizes, strides and offset of 0 or more, the last element within `available`, and no more elements than that: a stride
// of 0 could give any number of them.
bool fits_storage(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides, std::int64_t offset,
                  std::int64_t available);

}  // namespace quench

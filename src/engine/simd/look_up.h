// Bytes through a table of 256 entries.
#pragma once

#include <cstdint>

namespace quench {

// Rows of `width` bytes, `from_step` and `to_step` bytes apart; those between them are not touched.
struct ByteRows {
  std::int64_t count, width, from_step, to_step;
};
void look_up(const std::uint8_t* table, const ByteRows& rows, const std::uint8_t* from, std::uint8_t* to);

}  // namespace quench

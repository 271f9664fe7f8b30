#include "engine/simd/look_up.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace quench {
namespace {

TEST(LookUp, TakesEveryByteAndLeavesTheGapsAlone) {
  std::vector<std::uint8_t> table(256), from(4096);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i * 7 + 3);
  std::iota(from.begin(), from.end(), std::uint8_t{0});
  for (const std::int64_t width : {1, 15, 63, 64, 65, 128, 256, 300}) {
    const ByteRows rows{5, width, width + 3, width + 11};
    std::vector<std::uint8_t> to(4096, 99);
    look_up(table.data(), rows, from.data(), to.data());
    for (std::int64_t row = 0; row < rows.count; ++row)
      for (std::int64_t i = 0; i < rows.to_step; ++i) {
        const std::uint8_t found = to[static_cast<std::size_t>(row * rows.to_step + i)];
        const std::uint8_t wanted = i < width ? table[from[static_cast<std::size_t>(row * rows.from_step + i)]] : 99;
        ASSERT_EQ(found, wanted) << "width " << width << ", row " << row << ", place " << i;
      }
  }
}

}  // namespace
}  // namespace quench

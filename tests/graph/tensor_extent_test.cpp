#include "graph/tensor_extent.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace quench {
namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(TensorExtent, TheLastElementLiesInside) {
  EXPECT_TRUE(fits_storage(Sizes{2, 3}, Sizes{3, 1}, 0, 6));
  EXPECT_FALSE(fits_storage(Sizes{2, 3}, Sizes{3, 1}, 1, 6));
  EXPECT_TRUE(fits_storage(Sizes{2, 2}, Sizes{3, 1}, 1, 6));
  EXPECT_TRUE(fits_storage(Sizes{}, Sizes{}, 5, 6));
  EXPECT_FALSE(fits_storage(Sizes{}, Sizes{}, 6, 6));
}

TEST(TensorExtent, EmptyTensorsNeedNothing) { EXPECT_TRUE(fits_storage(Sizes{0, 5}, Sizes{5, 1}, 0, 0)); }

TEST(TensorExtent, NothingOverflows) {
  EXPECT_FALSE(fits_storage(Sizes{kHuge, kHuge}, Sizes{1, 1}, 0, 6));
  EXPECT_FALSE(fits_storage(Sizes{kHuge}, Sizes{kHuge}, kHuge, 6));
  EXPECT_FALSE(fits_storage(Sizes{1000000}, Sizes{0}, 0, 6)) << "a stride of 0 makes a tensor of any size";
}

TEST(TensorExtent, NothingIsNegative) {
  EXPECT_FALSE(fits_storage(Sizes{2}, Sizes{-1}, 1, 6));
  EXPECT_FALSE(fits_storage(Sizes{-2}, Sizes{1}, 0, 6));
  EXPECT_FALSE(fits_storage(Sizes{2}, Sizes{1}, -1, 6));
  EXPECT_FALSE(fits_storage(Sizes{2}, Sizes{1, 1}, 0, 6));
}

}  // namespace
}  // namespace quench

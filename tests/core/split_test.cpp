#include "core/split.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

using Parts = std::vector<std::string>;

TEST(Split, CutsAtEverySeparator) {
  EXPECT_EQ(split("a=1,b=2", ','), (Parts{"a=1", "b=2"}));
  EXPECT_EQ(split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
  EXPECT_EQ(split("whole", ','), Parts{"whole"});
  EXPECT_EQ(split("", ','), Parts{""});
}

}  // namespace
}  // namespace quench

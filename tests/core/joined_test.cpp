#include "core/joined.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace quench {
namespace {

using Texts = std::vector<std::string>;

TEST(Joined, HasTheSeparatorBetweenItemsOnly) {
  EXPECT_EQ(joined(Texts{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined(Texts{"a"}), "a");
  EXPECT_EQ(joined(Texts{}), "");
  EXPECT_EQ(joined(Texts{"", "", "b"}, "|"), "||b");  // an empty item is an item
}

TEST(Joined, TakesAnythingThatHasATextPerItem) {
  EXPECT_EQ(joined(std::set<std::string>{"b", "a"}, " or "), "a or b");
  const std::map<std::string, int> dims = {{"H", 4}, {"W", 2}};
  EXPECT_EQ(joined(dims, ", ", [](const auto& one) { return one.first + "=" + std::to_string(one.second); }),
            "H=4, W=2");
}

TEST(Joined, QuotesNames) {
  EXPECT_EQ(joined_in_quotes(Texts{"a", "b"}), "'a', 'b'");
  EXPECT_EQ(joined_in_quotes(Texts{}), "");
}

}  // namespace
}  // namespace quench

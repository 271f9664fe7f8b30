#include "core/utf8.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(Utf8, TakesCharactersOfEveryLength) {
  EXPECT_FALSE(first_not_utf8(""));
  EXPECT_FALSE(first_not_utf8(std::string_view("a\0b", 3)));
  // U+00F6, U+2581, U+1F600, and the last one of all: U+10FFFF.
  EXPECT_FALSE(first_not_utf8("\xC3\xB6 \xE2\x96\x81 \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF"));
}

TEST(Utf8, SaysWhereItEnds) {
  EXPECT_EQ(first_not_utf8("W\xF6rter"), 1U) << "Latin-1";
  EXPECT_EQ(first_not_utf8("ab\xC3"), 2U) << "cut";
  EXPECT_EQ(first_not_utf8("\x80"), 0U) << "a byte that goes on, and nothing before it";
  EXPECT_EQ(first_not_utf8("a\xC0\x80"), 1U) << "two bytes for what one can say";
  EXPECT_EQ(first_not_utf8("\xE0\x80\x80"), 0U);
  EXPECT_EQ(first_not_utf8("\xED\xA0\x80"), 0U) << "half of a surrogate pair";
  EXPECT_EQ(first_not_utf8("\xF4\x90\x80\x80"), 0U) << "beyond the last character";
  EXPECT_EQ(first_not_utf8("\xE2\x96Z"), 0U) << "the third byte";
}

}  // namespace
}  // namespace quench

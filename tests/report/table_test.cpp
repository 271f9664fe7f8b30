#include "report/table.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirCells) {
  EXPECT_EQ(table_text({{"name", 10}, {"n", 5, true}}, {{"conv", "1"}, {"a", "10"}}),
            "name   n\n----  --\nconv   1\na     10\n");
}

// Names were cut within a character, and a row ended where a name had a line break.
TEST(Table, NamesMayHoldAnything) {
  EXPECT_EQ(shortened("\u043c\u043e\u0434\u0435\u043b\u044c", 6), "\u043c\u043e\u0434\u0435\u043b\u044c");
  EXPECT_EQ(shortened("\u043c\u043e\u0434\u0435\u043b\u044c\u043a\u0430", 7), "\u043c...\u044c\u043a\u0430");
  EXPECT_EQ(table_text({{"name", 10}, {"n", 5}}, {{"\u540d", "1"}, {"a\nb", "2"}}),
            "name  n\n----  -\n\u540d     1\na?b   2\n");
}

}  // namespace
}  // namespace quench

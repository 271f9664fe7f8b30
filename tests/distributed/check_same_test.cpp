#include "distributed/check_same.h"

#include <gtest/gtest.h>

#include "quench/error.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

TEST(CheckSame, AsksNobodyIfThereIsOne) {
  const auto never = []() -> std::string { throw Error("it was asked"); };
  check_same(nullptr, "options", never);
  const Processes alone;
  check_same(&alone, "options", never);
}

TEST(CheckSame, SameTextsPass) {
  together(2, [](const Processes& processes) { check_same(&processes, "options", [] { return "a=1\nb=2\n"; }); });
}

TEST(CheckSame, NamesTheLinesThatDiffer) {
  together(2, [](const Processes& processes) {
    EXPECT_ERROR(
        check_same(&processes, "options",
                   [&] { return concat("a=1\nb=", processes.rank(), "\n", processes.is_first() ? "" : "c=3"); }),
        "rank 1 of 2 has other options (b=1, c=3) than rank 0 (b=0): all must be given the same");
    EXPECT_ERROR(check_same(&processes, "options", [&] { return processes.is_first() ? "a" : "a\nb"; }),
                 "rank 1 of 2 has other options (b) than rank 0 (none)");
  });
}

}  // namespace
}  // namespace quench

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

TEST(CheckSame, NamesWhereALineStands) {
  together(2, [](const Processes& processes) {
    const bool first = processes.is_first();
    EXPECT_ERROR(check_same(&processes, "options",
                            [&] {
                              return concat("seed: 1\nlayers:\n  - match: fc\n    weight:\n      bits: ", first ? 4 : 8,
                                            "\noutput: x\n");
                            }),
                 "(layers.weight.bits: 8) than rank 0 (layers.weight.bits: 4)");
    EXPECT_ERROR(
        check_same(&processes, "options",
                   [&] { return concat("layers:\n", first ? "  - a: 1\n  - b: 2\n" : "  - b: 2\n  - a: 1\n"); }),
        "has other options than rank 0 (the same in another order: 'layers.b: 2' where rank 0 has 'layers.a: "
        "1')");
    EXPECT_ERROR(check_same(&processes, "options", [&] { return first ? "a: 1\n" : "a: 1\na: 1\n"; }),
                 "(some are repeated)");
  });
}

}  // namespace
}  // namespace quench

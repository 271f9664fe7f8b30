#include "quench/options.h"

#include <gtest/gtest.h>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

const std::vector<OptionInfo> kKnown = {{"bins", 2048.0, "of the histogram"}, {"on", "histogram", "what is searched"}};

TEST(Options, FillsInWhatIsNotGiven) {
  const Options options = Options({{"bins", 64.0}}).checked(kKnown, "observer 'x'");
  EXPECT_EQ(options.number("bins"), 64.0);
  EXPECT_EQ(options.word("on"), "histogram");
}

TEST(Options, NamesTheNearestKnownOption) {
  try {
    Options({{"bin", 64.0}}).checked(kKnown, "observer 'x'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unknown option 'bin' of observer 'x'; did you mean 'bins'? (known: bins, on)");
  }
}

TEST(Options, RefusesAWordForANumber) {
  EXPECT_ERROR(Options({{"bins", "many"}}).checked(kKnown, "observer 'x'"), "option 'bins' of observer 'x'",
               "a number, not a word");
  EXPECT_ERROR(Options({{"on", 1.0}}).checked(kKnown, "observer 'x'"), "option 'on' of observer 'x'",
               "a word, not a number");
  EXPECT_ERROR(Options({{"range", 20.0}}).checked({{"range", "20,2", "from and to"}}, "method 'x'"),
               "option 'range' of method 'x' must be two numbers, such as 20,2, not a number");
}

}  // namespace
}  // namespace quench

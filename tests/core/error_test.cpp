// Which exceptions the user can fix and which are our bugs, and how they are reported.
#include "quench/error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/exit_code.h"

namespace quench {
namespace {

struct Ending {
  int code = -1;
  std::string words;
};

// How the program ends if `body` throws inside two stages.
Ending ending_of(const std::function<void()>& body) {
  try {
    with_context([] { return "in the stage"; }, [&] { with_context([] { return "at node 'a'"; }, [&] { body(); }); });
  } catch (const std::exception& error) {
    return {exit_code_of(error), last_words(error).what()};
  }
  return {};
}

const std::string kContext = "\n  at node 'a'\n  in the stage";
const std::string kPlea = "\n  this is a bug in quench; please report it, with the command and the model if you can";

TEST(WithContext, GivesBackWhatTheBodyGives) {
  EXPECT_EQ(with_context([] { return "never called"; }, [] { return 3; }), 3);
}

TEST(WithContext, AddsALineToAnErrorOnTheWayUp) {
  const Ending ending = ending_of([] { fail("no ", 1); });
  EXPECT_EQ(ending.code, kUsersToMend);
  EXPECT_EQ(ending.words, "no 1" + kContext);
}

TEST(WithContext, KeepsTheSameLineTwiceInARowOnce) {
  EXPECT_STREQ(Error("x").add_context("a").add_context("a").add_context("b").what(), "x\n  a\n  b");
}

TEST(WithContext, TakesWhatAModelCanCauseForTheUsers) {
  const Ending library =
      ending_of([] { throw std::runtime_error("sizes differ\nException raised from f at x.cpp:1"); });
  EXPECT_EQ(library.code, kUsersToMend);
  EXPECT_EQ(library.words, "sizes differ" + kContext);
  const Ending memory = ending_of([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code, kUsersToMend);
  EXPECT_EQ(memory.words, "out of memory" + kContext);
  const Ending length = ending_of([] { std::vector<int>().resize(SIZE_MAX); });
  EXPECT_EQ(length.code, kUsersToMend);
  EXPECT_EQ(length.words.rfind("a size exceeds any memory: ", 0), 0U) << length.words;
}

TEST(WithContext, TakesWhatOnlyAProgrammerCanCauseForOurs) {
  const Ending range = ending_of([] { throw std::out_of_range("at"); });
  EXPECT_EQ(range.code, kOurs);
  EXPECT_EQ(range.words, "internal error: at" + kContext + kPlea);
  const std::vector<std::function<void()>> mistakes = {
      [] { throw std::logic_error("x"); },
      [] { throw std::invalid_argument("x"); },
      [] { std::ignore = std::map<int, int>().at(3); },
      [] { std::ignore = std::optional<int>().value(); },
      [] { std::ignore = std::get<1>(std::variant<int, bool>(3)); },
      [] { std::function<void()>()(); },
  };
  for (const auto& mistake : mistakes) {
    const Ending ending = ending_of(mistake);
    EXPECT_EQ(ending.code, kOurs);
    EXPECT_NE(ending.words.find(kContext), std::string::npos) << ending.words;
  }
}

TEST(ExitCode, OfWhatNoStageCaught) {
  const std::runtime_error unknown("odd");
  EXPECT_EQ(exit_code_of(unknown), kOurs);
  EXPECT_EQ(last_words(unknown).what(), "internal error: odd" + kPlea);
  const std::filesystem::filesystem_error refused("cannot look", std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(exit_code_of(refused), kUsersToMend);
  EXPECT_EQ(std::string(last_words(refused).what()).find("internal"), std::string::npos);
}

TEST(ExitCode, OfAnInterruptIsItsOwn) {
  const Ending ending = ending_of([] { throw Interrupted("training was interrupted"); });
  EXPECT_EQ(ending.code, kInterrupted);
  EXPECT_EQ(ending.words, "training was interrupted" + kContext);
}

}  // namespace
}  // namespace quench

#include "import/torchscript_bounds.h"

#include <gtest/gtest.h>

#include <string>

#include "quench/error.h"

namespace quench {
namespace {

using namespace std::literals;

TEST(TorchScriptBounds, TakesWhatPyTorchWrites) {
  // {"a": 1, (None, True): 2.5}, and a class of its own
  EXPECT_NO_THROW(
      check_pickle_bounds("\x80\x02}q\x00X\x01\x00\x00\x00"
                          "aK\x01sN\x88\x86G@\x04\0\0\0\0\0\0s."sv));
  EXPECT_NO_THROW(
      check_pickle_bounds("\x80\x02"
                          "c__torch__\nNet\n)\x81}b."sv));
}

TEST(TorchScriptBounds, RefusesWhatWouldTakeMemory) {
  EXPECT_THROW(check_pickle_bounds("\x80\x02Nr\xff\xff\xff\x7f."sv), Error) << "place 2^31 - 1 of the memo";
  EXPECT_THROW(check_pickle_bounds("\x80\x02X\xff\xff\xff\x7f"
                                   "a."sv),
               Error)
      << "a text of 2 GB";
  EXPECT_THROW(check_pickle_bounds("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                                   "a."sv),
               Error);
}

TEST(TorchScriptBounds, RefusesWhatIsNotWhole) {
  EXPECT_THROW(check_pickle_bounds(""sv), Error);
  EXPECT_THROW(check_pickle_bounds("\x80\x02N"sv), Error) << "no end";
  EXPECT_THROW(check_pickle_bounds("\x80\x02J\x01"sv), Error) << "half a number";
  EXPECT_THROW(check_pickle_bounds("\x80\x02"
                                   "c__torch__\nNet"sv),
               Error)
      << "half a name";
  EXPECT_THROW(check_pickle_bounds("\x80\x02i."sv), Error) << "an opcode that makes an object";
}

TEST(TorchScriptBounds, RefusesDeepPrograms) {
  const std::string deep(250, '('), shallow(100, '(');
  EXPECT_THROW(check_program_depth("x = " + deep), Error);
  EXPECT_THROW(check_program_depth("x = " + std::string(250, '-') + "1"), Error);
  std::string nots = "x = ";
  for (int i = 0; i < 250; ++i) nots += "not ";
  EXPECT_THROW(check_program_depth(nots + "y"), Error);
  EXPECT_THROW(check_program_depth(std::string(500, ' ') + "x = 1"), Error);
  for (const char* link : {"+x", " ** x", ".T", " and x", " if y else x"}) {
    std::string chain = "x = x", statements;
    for (int i = 0; i < 1100; ++i) chain += link;
    EXPECT_THROW(check_program_depth(chain), Error) << link;
    for (int i = 0; i < 1100; ++i) statements += concat("x = x", link, "\n");
    EXPECT_NO_THROW(check_program_depth(statements)) << link;
  }
  EXPECT_NO_THROW(check_program_depth("x = " + shallow + "1" + std::string(100, ')') + "\n" + deep.substr(0, 150)));
}

}  // namespace
}  // namespace quench

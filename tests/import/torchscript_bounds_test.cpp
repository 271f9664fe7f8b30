#include "import/torchscript/bounds.h"

#include <gtest/gtest.h>

#include <string>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using namespace std::literals;

TEST(TorchScriptBounds, TakesWhatPyTorchWrites) {
  // {"a": 1, (None, True): 2.5}, and a custom class
  EXPECT_NO_THROW(
      check_pickle_bounds("\x80\x02}q\x00X\x01\x00\x00\x00"
                          "aK\x01sN\x88\x86G@\x04\0\0\0\0\0\0s."sv));
  EXPECT_NO_THROW(
      check_pickle_bounds("\x80\x02"
                          "c__torch__\nNet\n)\x81}b."sv));
}

TEST(TorchScriptBounds, RefusesWhatWouldTakeMemory) {
  EXPECT_ERROR(check_pickle_bounds("\x80\x02Nr\xff\xff\xff\x7f."sv), "place 2147483647 of the memo");
  EXPECT_ERROR(check_pickle_bounds("\x80\x02X\xff\xff\xff\x7f"
                                   "a."sv),
               "ends too early", "2147483647 bytes expected")
      << "a text of 2 GB";
  EXPECT_ERROR(check_pickle_bounds("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                                   "a."sv),
               "ends too early", "18446744073709551615 bytes expected");
}

TEST(TorchScriptBounds, RefusesWhatIsNotWhole) {
  EXPECT_ERROR(check_pickle_bounds(""sv), "ends too early", "end mark");
  EXPECT_ERROR(check_pickle_bounds("\x80\x02N"sv), "ends too early", "end mark");
  EXPECT_ERROR(check_pickle_bounds("\x80\x02J\x01"sv), "4 bytes expected", "1 left") << "half a number";
  EXPECT_ERROR(check_pickle_bounds("\x80\x02"
                                   "c__torch__\nNet"sv),
               "a name at byte 13", "no end")
      << "half a name";
  EXPECT_ERROR(check_pickle_bounds("\x80\x02i."sv), "opcode 105 at byte 2", "not one that torch.jit.save writes")
      << "an opcode that makes an object";
}

TEST(TorchScriptBounds, RefusesDeepPrograms) {
  const std::string deep(250, '('), shallow(100, '(');
  EXPECT_ERROR(check_program_depth("x = " + deep), "nested more than 200 deep");
  EXPECT_ERROR(check_program_depth("x = " + std::string(250, '-') + "1"), "nested more than 200 deep");
  std::string nots = "x = ";
  for (int i = 0; i < 250; ++i) nots += "not ";
  EXPECT_ERROR(check_program_depth(nots + "y"), "nested more than 200 deep");
  EXPECT_ERROR(check_program_depth(std::string(500, ' ') + "x = 1"), "nested more than 200 deep");
  for (const char* link : {"+x", " ** x", ".T", " and x", " if y else x"}) {
    std::string chain = "x = x", statements;
    for (int i = 0; i < 1100; ++i) chain += link;
    EXPECT_ERROR(check_program_depth(chain), "more than 1000 operators") << link;
    for (int i = 0; i < 1100; ++i) statements += concat("x = x", link, "\n");
    EXPECT_NO_THROW(check_program_depth(statements)) << link;
  }
  EXPECT_NO_THROW(check_program_depth("x = " + shallow + "1" + std::string(100, ')') + "\n" + deep.substr(0, 150)));
}

}  // namespace
}  // namespace quench

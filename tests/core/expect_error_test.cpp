#include "support/expect_error.h"

#include <stdexcept>

namespace quench {
namespace {

std::string outcome(const ThrowsError& check, void (*action)()) { return check("it", action).message(); }

TEST(ExpectError, HoldsWhereEveryPartIsSaid) {
  EXPECT_ERROR(fail("the axis is 7; 0 to 3 are there"), "axis is 7", "0 to 3");
  EXPECT_ERROR(with_context([] { return "in 'conv1'"; }, [] { fail("no axis 7"); }), "axis 7", "'conv1'");
}

TEST(ExpectError, FailsWhereAPartIsMissing) {
  EXPECT_EQ(outcome(ThrowsError("axis", "of 'x'"), [] { fail("no axis 7"); }),
            "it\ndoes not say 'of 'x'' but: no axis 7");
}

TEST(ExpectError, FailsWhereNothingIsThrown) {
  EXPECT_EQ(outcome(ThrowsError("axis"), [] {}), "it\nthrows nothing; it should say 'axis'");
}

TEST(ExpectError, FailsWhereSomethingElseIsThrown) {
  const std::string text = outcome(ThrowsError("axis"), [] { throw std::out_of_range("axis"); });
  EXPECT_NE(text.find("not an Error: axis"), std::string::npos) << text;
}

}  // namespace
}  // namespace quench

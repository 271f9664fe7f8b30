#include "distributed/signs_of_life.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(SignsOfLife, OneThatStandsStillForLongIsDead) {
  SignsOfLife signs(0, 2, 3);
  EXPECT_EQ(signs.verdict({"1", "1"}).what, "");
  EXPECT_EQ(signs.verdict({"2", "1"}).what, "");
  EXPECT_EQ(signs.verdict({"3", "1"}).what, "");
  EXPECT_FALSE(signs.others_left());
  EXPECT_EQ(signs.verdict({"4", "1"}).what, "rank 1 of 2 has stopped (no sign of life for 3 s)");
  EXPECT_TRUE(signs.others_left());
}

TEST(SignsOfLife, ASignInBetweenStartsTheCountAnew) {
  SignsOfLife signs(1, 2, 2);
  for (const char* word : {"1", "1", "2", "2", "3", "3"}) EXPECT_EQ(signs.verdict({word, "0"}).what, "") << word;
}

TEST(SignsOfLife, OwnSilenceIsNobodysBusiness) {
  SignsOfLife signs(0, 1, 1);
  EXPECT_EQ(signs.verdict({"1"}).what, "");
  EXPECT_EQ(signs.verdict({"1"}).what, "");
  EXPECT_EQ(signs.verdict({"1"}).what, "");
}

TEST(SignsOfLife, WhoLeftIsNotDead) {
  SignsOfLife signs(0, 3, 2);
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "1"}).what, "");
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "2"}).what, "");
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "3"}).what, "");
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "4"}).what, "");
  EXPECT_FALSE(signs.others_left());
  EXPECT_EQ(signs.verdict({"1", kLeftDone, kLeftDone}).what, "");
  EXPECT_TRUE(signs.others_left());
}

TEST(SignsOfLife, WhoStopsBecauseOfAnotherIsNoReasonToStop) {
  SignsOfLife signs(0, 3, 2);
  EXPECT_EQ(signs.verdict({"1", kLeftTold, "1"}).what, "");
  EXPECT_EQ(signs.verdict({"1", kLeftTold, "2"}).what, "");
  EXPECT_EQ(signs.verdict({"1", kLeftTold, "3"}).what, "");
  EXPECT_FALSE(signs.others_left());
  EXPECT_EQ(signs.verdict({"1", kLeftTold, kLeftDone}).what, "");
  EXPECT_TRUE(signs.others_left());
}

TEST(SignsOfLife, WhoFailedStopsTheOthers) {
  SignsOfLife signs(0, 3, 2);
  EXPECT_EQ(signs.verdict({"1", "1", kLeftFailed}).what, "rank 2 of 3 has failed (its own message says why)");
  EXPECT_FALSE(signs.verdict({"1", "1", kLeftFailed}).is_of_interrupt);
}

TEST(SignsOfLife, WhoWasInterruptedStopsTheOthersToo) {
  SignsOfLife signs(0, 3, 2);
  const Verdict verdict = signs.verdict({"1", kLeftInterrupted, "1"});
  EXPECT_EQ(verdict.what, "rank 1 of 3 was interrupted");
  EXPECT_TRUE(verdict.is_of_interrupt);
}

// Whatever the words are: one may quote another.
TEST(Verdict, IsUnpackedAsItWas) {
  for (const bool is_of_interrupt : {false, true}) {
    for (const char* what : {"rank 1 of 4 was interrupted", "interrupted: x", "failed: x"}) {
      const Verdict back = unpacked(packed({what, is_of_interrupt}));
      EXPECT_EQ(back.what, what);
      EXPECT_EQ(back.is_of_interrupt, is_of_interrupt);
    }
  }
  EXPECT_EQ(packed({}), "");
  EXPECT_TRUE(unpacked("").empty());
}

}  // namespace
}  // namespace quench

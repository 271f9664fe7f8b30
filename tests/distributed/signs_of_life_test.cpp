#include "distributed/signs_of_life.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(SignsOfLife, OneThatStandsStillForLongIsDead) {
  SignsOfLife signs(0, 2, 3);
  EXPECT_EQ(signs.verdict({"1", "1"}), "");
  EXPECT_EQ(signs.verdict({"2", "1"}), "");
  EXPECT_EQ(signs.verdict({"3", "1"}), "");
  EXPECT_FALSE(signs.others_left());
  EXPECT_EQ(signs.verdict({"4", "1"}), "rank 1 of 0..1 has stopped (no sign of life for 3 s)");
  EXPECT_TRUE(signs.others_left());
}

TEST(SignsOfLife, ASignInBetweenStartsTheCountAnew) {
  SignsOfLife signs(1, 2, 2);
  for (const char* word : {"1", "1", "2", "2", "3", "3"}) EXPECT_EQ(signs.verdict({word, "0"}), "") << word;
}

TEST(SignsOfLife, OwnSilenceIsNobodysBusiness) {
  SignsOfLife signs(0, 1, 1);
  EXPECT_EQ(signs.verdict({"1"}), "");
  EXPECT_EQ(signs.verdict({"1"}), "");
  EXPECT_EQ(signs.verdict({"1"}), "");
}

TEST(SignsOfLife, WhoLeftIsNotDead) {
  SignsOfLife signs(0, 3, 2);
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "1"}), "");
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "2"}), "");
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "3"}), "");
  EXPECT_EQ(signs.verdict({"1", kLeftDone, "4"}), "");
  EXPECT_FALSE(signs.others_left());
  EXPECT_EQ(signs.verdict({"1", kLeftDone, kLeftDone}), "");
  EXPECT_TRUE(signs.others_left());
}

TEST(SignsOfLife, WhoStopsBecauseOfAnotherIsNoReasonToStop) {
  SignsOfLife signs(0, 3, 2);
  EXPECT_EQ(signs.verdict({"1", kLeftTold, "1"}), "");
  EXPECT_EQ(signs.verdict({"1", kLeftTold, "2"}), "");
  EXPECT_EQ(signs.verdict({"1", kLeftTold, "3"}), "");
  EXPECT_FALSE(signs.others_left());
  EXPECT_EQ(signs.verdict({"1", kLeftTold, kLeftDone}), "");
  EXPECT_TRUE(signs.others_left());
}

TEST(SignsOfLife, WhoFailedStopsTheOthers) {
  SignsOfLife signs(0, 3, 2);
  EXPECT_EQ(signs.verdict({"1", "1", kLeftFailed}), "rank 2 of 0..2 has failed (its own message says why)");
}

}  // namespace
}  // namespace quench

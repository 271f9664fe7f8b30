#include "core/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace quench {
namespace {

struct Shown {
  double now = 0.0;
  std::ostringstream out;
  Progress::Clock clock() {
    return [this] { return now; };
  }
};

TEST(Progress, WritesALineEveryFewSecondsElsewhere) {
  Shown shown;
  Progress progress(shown.out, ProgressStyle::kLines, "evaluating", "images", shown.clock());
  for (int i = 1; i <= 100; ++i) {
    shown.now = i * 0.11;
    progress.show(i * 10, 1000);
  }
  EXPECT_EQ(shown.out.str(),
            "evaluating: 460 of 1000 images, 91 images/s, 0:06 left\n"
            "evaluating: 920 of 1000 images, 91 images/s, 0:01 left\n");
}

TEST(Progress, SaysNothingOfShortWork) {
  Shown shown;
  Progress progress(shown.out, ProgressStyle::kLines, "evaluating", "images", shown.clock());
  progress.show(10, 10);
  EXPECT_EQ(shown.out.str(), "");
}

TEST(Progress, DrawsABarAndWipesItAtTheEnd) {
  Shown shown;
  {
    Progress progress(shown.out, ProgressStyle::kBar, "evaluating", "images", shown.clock());
    shown.now = 2.0;
    progress.show(50, 100);
    EXPECT_EQ(shown.out.str(), "\revaluating [###############...............] 50/100  25 images/s  0:02 left");
    shown.now = 2.05;
    progress.show(51, 100);  // too soon to draw
    EXPECT_EQ(shown.out.str().find("51/100"), std::string::npos);
  }
  EXPECT_EQ(shown.out.str().back(), '\r');
}

// What does not fit into a line would be broken, and each new bar would leave the old one above it.
TEST(Progress, FitsANarrowTerminal) {
  const auto bar = [](std::size_t columns) {
    Shown shown;
    Progress progress(shown.out, ProgressStyle::kBar, "evaluating", "images", shown.clock());
    progress.limit_columns(columns);
    shown.now = 2.0;
    progress.show(50, 100);
    return shown.out.str().substr(1);
  };
  EXPECT_EQ(bar(81), "evaluating [###############...............] 50/100  25 images/s  0:02 left");
  EXPECT_EQ(bar(51), "evaluating [###...] 50/100  25 images/s  0:02 left");
  EXPECT_EQ(bar(48), "evaluating [#..] 50/100  25 images/s  0:02 left");
  EXPECT_EQ(bar(46), "evaluating 50/100  25 images/s  0:02 left");
  EXPECT_EQ(bar(40), "evaluating 50/100");
  EXPECT_EQ(bar(18), "evaluating 50/100");
  EXPECT_EQ(bar(17), "50/100");
  EXPECT_EQ(bar(4), "50/");
  for (std::size_t columns = 2; columns < 90; ++columns) EXPECT_LT(bar(columns).size(), columns) << columns;
}

// As after --resume: 900 of 1000 steps were made by the run before.
TEST(Progress, CountsOnlyItsOwnWorkForTheRate) {
  Shown shown;
  Progress progress(shown.out, ProgressStyle::kLines, "training", "steps", shown.clock());
  progress.begin(900);
  shown.now = 10.0;
  progress.show(920, 1000);
  EXPECT_EQ(shown.out.str(), "training: 920 of 1000 steps, 2.0 steps/s, 0:40 left\n");
}

TEST(Progress, IsSilentWhenAsked) {
  Shown shown;
  Progress progress(shown.out, ProgressStyle::kSilent, "evaluating", "images", shown.clock());
  shown.now = 60.0;
  progress.show(5, 10);
  EXPECT_EQ(shown.out.str(), "");
  EXPECT_EQ(progress_style(true), ProgressStyle::kSilent);
}

}  // namespace
}  // namespace quench

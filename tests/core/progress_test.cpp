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

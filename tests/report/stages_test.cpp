#include "report/stages.h"

#include <gtest/gtest.h>

#include <vector>

namespace quench {
namespace {

TEST(Stages, RunsUpToTheOneItIsToldToStopAfter) {
  std::vector<std::string> ran, told;
  Stages stages("plan", [&](const StageRecord& stage) { told.push_back(stage.name); });
  for (const char* name : {"import", "plan", "calibrate"}) stages.run(name, [&] { ran.emplace_back(name); });
  EXPECT_EQ(ran, (std::vector<std::string>{"import", "plan"}));
  EXPECT_EQ(told, ran);
  EXPECT_EQ(stages.records().size(), 2U);
  EXPECT_TRUE(stages.ended());
}

// 64 MB written and freed: the peak of that stage holds them, the next one's does not have to.
TEST(Stages, KnowsThePeakOfEach) {
  if (peak_resident_bytes() == 0) GTEST_SKIP() << "the system does not say how much memory a process uses";
  constexpr std::size_t kBytes = 64U << 20U;
  const std::int64_t before = resident_bytes();
  Stages stages;
  stages.run("large", [] { std::vector<char> block(kBytes, 1); });
  EXPECT_GE(stages.records()[0].peak_bytes, before + static_cast<std::int64_t>(kBytes) * 9 / 10);
}

}  // namespace
}  // namespace quench

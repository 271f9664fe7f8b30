#include "quantize/stages.h"

#include <gtest/gtest.h>

#include <vector>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(Stages, RunsUpToTheOneItIsToldToStopAfter) {
  std::vector<std::string> ran, told;
  Stages stages(
      "plan", [&](const StageRecord& stage) { told.push_back("after " + stage.name); },
      [&](const std::string& stage) { told.push_back("before " + stage); });
  for (const char* name : {"import", "plan", "calibrate"}) stages.run(name, [&] { ran.emplace_back(name); });
  EXPECT_EQ(ran, (std::vector<std::string>{"import", "plan"}));
  EXPECT_EQ(told, (std::vector<std::string>{"before import", "after import", "before plan", "after plan"}));
  EXPECT_EQ(stages.records().size(), 2U);
  EXPECT_TRUE(stages.ended());
}

// Once a bug: 'equalize' and 'correct_biases' were not names to stop after; one that does not run still ends
// the job.
TEST(Stages, StopsAfterAStageThatIsLeftOut) {
  std::vector<std::string> ran;
  Stages stages("equalize");
  for (const char* name : {"import", "fuse", "plan"}) stages.run(name, [&] { ran.emplace_back(name); });
  EXPECT_EQ(ran, (std::vector<std::string>{"import", "fuse"}));
  EXPECT_TRUE(stages.ended());
  EXPECT_TRUE(comes_after("evaluate", "correct_biases"));
  EXPECT_FALSE(comes_after("plan", "plan"));
  EXPECT_ERROR(check_stage("equalise_all"), "unknown stage 'equalise_all'", "equalize");
}

// 64 MB written and freed: the peak of that stage holds them, the next one's does not have to.
TEST(Stages, KnowsThePeakOfEach) {
  if (peak_resident_bytes() == 0) GTEST_SKIP() << "the system does not say how much memory a process uses";
  constexpr std::size_t kBytes = 64U << 20U;
  const std::int64_t before = resident_bytes();
  Stages stages;
  stages.run("import", [] {
    std::vector<char> block(kBytes, 1);
    asm volatile("" : : "r"(block.data()) : "memory");  // else the compiler leaves it out
  });
  EXPECT_GE(stages.records()[0].peak_bytes, before + static_cast<std::int64_t>(kBytes) * 9 / 10);
}

}  // namespace
}  // namespace quench

#include "verify/process.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ops/run_op.h"

namespace quench {
namespace {

std::vector<std::string> shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

TEST(Process, GivesTheExitCodeAndBothStreams) {
  const ProcessResult result = run_process(shell("echo one; echo two >&2; exit 7"), 60);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output, "one\ntwo\n");
  EXPECT_EQ(ending_of(result, 60), "ended with exit code 7");
}

TEST(Process, NamesTheSignal) {
  const ProcessResult result = run_process(shell("kill -SEGV $$"), 60);
  EXPECT_EQ(ending_of(result, 60), "was ended by signal 11 (Segmentation fault)");
}

TEST(Process, KeepsTheEndOfALongOutput) {
  const ProcessResult result = run_process(shell("yes abcdefg | head -c 1000000; echo the end"), 60);
  EXPECT_LE(result.output.size(), 40000U);
  EXPECT_TRUE(result.output.ends_with("the end\n"));
}

TEST(Process, EndsWhatHangsWithAllThatItStarted) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = run_process(shell("sleep 300 & sleep 300"), 0.3);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(ending_of(result, 0.3), "did not finish within 0.3 s and was killed");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Process, DoesNotWaitForWhatIsLeftRunning) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_process(shell("sleep 100 & exit 0"), 90).exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Process, SaysWhatCannotBeStarted) {
  EXPECT_EQ(message_of([] { run_process({"/no/such/program"}, 1); }),
            "cannot start '/no/such/program': No such file or directory");
}

}  // namespace
}  // namespace quench

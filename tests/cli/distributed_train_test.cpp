// `quench train` in several processes: the first one writes and reports, and what a killed one leaves is resumed.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cli/demo.h"
#include "cli/program.h"
#include "support/together.h"

namespace quench {
namespace {

std::vector<std::string> job(const std::string& output, const std::vector<std::string>& more = {},
                             const std::string& batch = "16") {
  std::vector<std::string> words = {program_path(),
                                    "train",
                                    demo_model(),
                                    "--platform",
                                    "onnxruntime",
                                    "--train",
                                    demo_data(0, 128),
                                    "--val",
                                    demo_data(200, 64),
                                    "--epochs",
                                    "4",
                                    "--train-batch",
                                    batch,
                                    "--set",
                                    "train.checkpoint_every=2",
                                    "--set",
                                    "train.log_every=1",
                                    "--threads",
                                    "1",
                                    "-o",
                                    output};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void expect_success(StartedTogether& two) {
  EXPECT_TRUE(two.end_within(120));
  for (const std::size_t rank : {0, 1}) EXPECT_EQ(two.code(rank), 0) << two.error(rank);
  EXPECT_EQ(two.output(1) + two.error(1), "");
}

bool appears(const std::string& path) {
  for (int i = 0; i < 6000 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return std::filesystem::exists(path);
}

TEST(DistributedTraining, AKilledOneEndsTheOthersAndIsResumed) {
  const TemporaryFolder folder;
  StartedTogether whole(2, job(folder.path("whole")), true);
  expect_success(whole);
  EXPECT_EQ(lines_of(read_text(folder.path("whole/training/steps.csv"))), 1U + 4 * 8);
  {
    StartedTogether broken(2, job(folder.path("parts")), true);
    ASSERT_TRUE(appears(folder.path("parts/training/checkpoint.safetensors"))) << broken.error(0);
    broken.kill(1);
    EXPECT_TRUE(broken.end_within(10));
    EXPECT_EQ(broken.code(0), 1);
    EXPECT_NE(broken.error(0).find("rank 1 of 2 has stopped"), std::string::npos) << broken.error(0);
    EXPECT_NE(broken.error(0).find("--resume goes on from the last checkpoint"), std::string::npos) << broken.error(0);
    EXPECT_FALSE(std::filesystem::exists(folder.path("parts/record.json")));
  }
  StartedTogether resumed(2, job(folder.path("parts"), {"--resume"}), true);
  expect_success(resumed);
  const auto record = [&](const char* name) {
    return nlohmann::json::parse(read_text(folder.path(std::string(name) + "/record.json"))).at("training");
  };
  EXPECT_GT(record("parts").at("resumed_from"), 0);
  EXPECT_EQ(record("parts").at("steps"), 32);
  EXPECT_TRUE(read_text(folder.path("parts/fashion_cnn.quench.onnx")) ==
              read_text(folder.path("whole/fashion_cnn.quench.onnx")));
  EXPECT_EQ(read_text(folder.path("parts/training/steps.csv")), read_text(folder.path("whole/training/steps.csv")));
  EXPECT_EQ(lines_of(read_text(folder.path("parts/training/epochs.csv"))),
            lines_of(read_text(folder.path("whole/training/epochs.csv"))));
}

// Whichever of them is interrupted, all stop after the same step, and that is where the run goes on.
TEST(DistributedTraining, AnInterruptStopsAllWithACheckpoint) {
  const TemporaryFolder folder;
  StartedTogether whole(2, job(folder.path("whole")), true);
  expect_success(whole);
  for (const std::size_t interrupted : {0, 1}) {
    const std::string name = "parts" + std::to_string(interrupted);
    {
      StartedTogether two(2, job(folder.path(name), {"--set", "train.checkpoint_every=0"}), true);
      const std::string steps = folder.path(name + "/training/steps.csv");
      ASSERT_TRUE(appears(steps)) << two.error(0);
      // After its first step each of them looks for interrupts; the second takes both.
      for (int i = 0; i < 6000 && lines_of(read_text(steps)) < 3; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      two.kill(interrupted, SIGINT);
      EXPECT_TRUE(two.end_within(30));
      for (const std::size_t rank : {0, 1}) {
        EXPECT_EQ(two.code(rank), 130) << two.error(rank);
        for (const char* part : {"training was interrupted after step", "--resume goes on from there"})
          EXPECT_NE(two.error(rank).find(part), std::string::npos) << rank << ": " << two.error(rank);
      }
      ASSERT_TRUE(std::filesystem::exists(folder.path(name + "/training/checkpoint.safetensors")));
    }
    StartedTogether resumed(2, job(folder.path(name), {"--resume", "--set", "train.checkpoint_every=0"}), true);
    expect_success(resumed);
    EXPECT_EQ(read_text(folder.path(name + "/training/steps.csv")), read_text(folder.path("whole/training/steps.csv")));
  }
}

TEST(DistributedTraining, ABatchThatCannotBeSharedIsRefused) {
  const TemporaryFolder folder;
  StartedTogether two(2, job(folder.path("out"), {}, "15"), true);
  EXPECT_TRUE(two.end_within(60));
  const std::string said = two.error(0) + two.error(1);
  for (const std::size_t rank : {0, 1}) EXPECT_EQ(two.code(rank), 1) << said;
  EXPECT_NE(said.find("a batch of 15 items cannot be shared by 2 processes"), std::string::npos) << said;
}

}  // namespace
}  // namespace quench

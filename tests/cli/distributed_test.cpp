// The program in several processes: the first one prints and writes what one alone would, the others say nothing.
#include <gtest/gtest.h>

#include "cli/demo.h"
#include "cli/program.h"
#include "support/together.h"

namespace quench {
namespace {

std::vector<std::string> command(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
  arguments.insert(arguments.begin(), program_path());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void expect_silent_success(StartedTogether& processes, std::size_t count) {
  EXPECT_TRUE(processes.end_within(120));
  for (std::size_t rank = 0; rank < count; ++rank) {
    EXPECT_EQ(processes.code(rank), 0) << processes.error(rank);
    if (rank > 0) EXPECT_EQ(processes.output(rank) + processes.error(rank), "");
  }
}

TEST(Distributed, TwoQuantizeAsOneDoes) {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments = {
      "quantize", demo_model(),        "--platform", "onnxruntime", "--calib", demo_data(0, 40),
      "--eval",   demo_data(200, 100), "--threads",  "1",           "-o"};
  std::vector<std::string> alone = arguments;
  alone.push_back(folder.path("alone"));
  const Outcome one = quench_run(alone);
  ASSERT_EQ(one.code, 0) << one.err;
  StartedTogether two(2, command(arguments, {folder.path("together")}), true);
  expect_silent_success(two, 2);
  EXPECT_NE(two.output(0).find("quantized   top-1"), std::string::npos) << two.output(0);
  for (const char* file : {"fashion_cnn.quench.onnx", "plan.yaml", "deploy/fashion_cnn_qdq.onnx"})
    EXPECT_TRUE(read_text(folder.path(std::string("together/") + file)) ==
                read_text(folder.path(std::string("alone/") + file)))
        << file;
  const auto record = [&](const char* name) {
    return nlohmann::json::parse(read_text(folder.path(std::string(name) + "/record.json")));
  };
  EXPECT_EQ(record("together").at("calibration").at("items"), 40);
  for (const char* part : {"float", "quantized"})
    EXPECT_EQ(record("together").at(part).at("correct"), record("alone").at(part).at("correct"));
}

TEST(Distributed, ThreeEvaluateAsOneDoes) {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments = {"eval",      demo_model(), "--data", demo_data(0, 150),
                                              "--threads", "1",          "--json", "--predictions"};
  std::vector<std::string> alone = arguments;
  alone.push_back(folder.path("alone.json"));
  const Outcome one = quench_run(alone);
  ASSERT_EQ(one.code, 0) << one.err;
  StartedTogether three(3, command(arguments, {folder.path("together.json")}), true);
  expect_silent_success(three, 3);
  EXPECT_EQ(nlohmann::json::parse(three.output(0)).at("correct"), one.json().at("correct"));
  EXPECT_EQ(nlohmann::json::parse(three.output(0)).at("items"), 150);
  EXPECT_EQ(read_text(folder.path("together.json")), read_text(folder.path("alone.json")));
}

// With the variables of mpirun and of srun in place of torchrun's: nobody says where they meet.
TEST(Distributed, TwoOfEachLauncherFindEachOther) {
  const std::string job = std::to_string(::getpid());
  const std::vector<std::string> launchers = {
      "OMPI_COMM_WORLD_RANK=$RANK OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=" + job,
      "SLURM_PROCID=$RANK SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=127.0.0.1 SLURM_STEP_ID=0 SLURM_JOB_ID=" + job};
  for (const std::string& variables : launchers) {
    const std::string without = "env -u RANK -u WORLD_SIZE -u LOCAL_RANK -u MASTER_ADDR -u MASTER_PORT ";
    StartedTogether two(2,
                        {"/bin/sh", "-c", "exec " + without + variables + " \"$@\"", "sh", program_path(), "eval",
                         demo_model(), "--data", demo_data(0, 40), "--threads", "1", "--json"},
                        true);
    expect_silent_success(two, 2);
    EXPECT_EQ(nlohmann::json::parse(two.output(0)).at("items"), 40) << variables;
  }
}

TEST(Distributed, AnErrorOfOneStopsTheOthers) {
  StartedTogether two(2, command({"eval", "no_such_model.onnx", "--data", demo_data(0, 8)}), true);
  EXPECT_TRUE(two.end_within(30));
  for (const std::size_t rank : {0, 1}) {
    EXPECT_EQ(two.code(rank), 1);
    EXPECT_EQ(two.output(rank), "");
  }
  EXPECT_NE(two.error(0).find("no_such_model.onnx"), std::string::npos) << two.error(0);
}

TEST(Distributed, OtherDataInOneIsAnError) {
  const std::string which = "exec \"$@\" '" + demo_data(0, 20) + "'$RANK";  // 200 and 201 items
  StartedTogether two(2, {"/bin/sh", "-c", which, "sh", program_path(), "eval", demo_model(), "--data"}, true);
  EXPECT_TRUE(two.end_within(60));
  for (const std::size_t rank : {0, 1}) EXPECT_EQ(two.code(rank), 1);
  EXPECT_NE(two.error(0).find("rank 1 of 2 has other data (201 items"), std::string::npos) << two.error(0);
}

// Else gradients of two quantizations would be averaged, or one would wait for the other in another place.
TEST(Distributed, OtherOptionsInOneAreAnError) {
  const TemporaryFolder folder;
  const auto expect_other = [&](const std::string& own, const std::string& text) {
    const std::string which = "[ $RANK = 0 ] || exec \"$@\" " + own + "; exec \"$@\"";
    StartedTogether two(2,
                        {"/bin/sh", "-c", which, "sh", program_path(), "train", demo_model(), "--platform",
                         "onnxruntime", "--train", demo_data(0, 32), "--threads", "1", "-o", folder.path("out")},
                        true);
    EXPECT_TRUE(two.end_within(60)) << own;
    for (const std::size_t rank : {0, 1}) EXPECT_EQ(two.code(rank), 1) << own;
    EXPECT_NE(two.error(0).find("rank 1 of 2 has other options (" + text), std::string::npos) << two.error(0);
  };
  expect_other("--bits w4a8", "defaults.weight: {bits: 4");
  expect_other("--resume", "resume: 1) than rank 0 (resume: 0)");
  expect_other("--set train.loop=lsq_epoch", "defaults.weight: {observer: lsq");
  expect_other("--eval '" + demo_data(0, 8) + "'", "evaluation data: 8 items) than rank 0 (evaluation data: none)");
}

TEST(Distributed, OneAloneSaysForWhomItWaits) {
  for (const std::string there : {"0", "1"}) {
    const std::string one = "[ $RANK = " + there + " ] || exec sleep 60; exec \"$@\"";
    StartedTogether two(2,
                        {"/bin/sh", "-c", one, "sh", program_path(), "eval", demo_model(), "--data", demo_data(0, 8)});
    const std::size_t rank = there == "0" ? 0 : 1;
    for (int i = 0; i < 600 && two.error(rank).empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string place = "127.0.0.1:" + std::to_string(two.port());
    EXPECT_EQ(two.error(rank),
              rank == 0
                  ? "quench (rank 0 of 2): waiting at " + place + " for 1 of 2 processes: rank 1, for 300 s at most\n"
                  : "quench (rank 1 of 2): waiting for an answer at " + place +
                        " (MASTER_ADDR, MASTER_PORT), where rank 0 should listen, for 300 s at most\n");
  }
}

TEST(Distributed, LearnedRoundingIsForOneProcess) {
  const TemporaryFolder folder;
  StartedTogether two(2, command({"quantize", demo_model(), "--platform", "academic", "--bits", "w4a4", "--method",
                                  "adaround", "--calib", demo_data(0, 8), "-o", folder.path("out")}));
  EXPECT_TRUE(two.end_within(30));
  EXPECT_EQ(two.code(0), 1);
  EXPECT_NE(two.error(0).find("the method 'adaround' learns in one process"), std::string::npos) << two.error(0);
}

TEST(Distributed, OtherCommandsAreTheFirstOnes) {
  StartedTogether two(2, command({"list", "observers"}), true);
  expect_silent_success(two, 2);
  EXPECT_NE(two.output(0).find("min_max"), std::string::npos);
}

TEST(Distributed, HalfSetVariablesMatterToThoseThatReadThem) {
  ::setenv("RANK", "1", 1);
  const Outcome list = quench_run({"list", "observers"});
  const Outcome eval = quench_run({"eval", demo_model(), "--data", demo_data(0, 8)});
  ::unsetenv("RANK");
  EXPECT_EQ(list.code, 0) << list.err;
  expect_refused(eval, "RANK is set, but WORLD_SIZE is not");
}

}  // namespace
}  // namespace quench

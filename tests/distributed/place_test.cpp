#include <gtest/gtest.h>

#include <map>

#include "quench/distributed.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using Variables = std::map<std::string, std::string>;

ProcessPlace place_with(const Variables& variables) {
  return place_of_process([&](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional<std::string>(at->second);
  });
}

Variables with(Variables variables, const Variables& more) {
  variables.insert(more.begin(), more.end());
  return variables;
}

const Variables kMeeting = {{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};

TEST(Place, WithoutVariablesItIsOneProcess) {
  const ProcessPlace place = place_with(kMeeting);
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.size, 1);
  EXPECT_TRUE(place.is_first());
}

TEST(Place, OfEveryLauncher) {
  const std::vector<Variables> launchers = {
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}},
      {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
      {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}},
      {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "1"}}};
  for (const Variables& variables : launchers) {
    const ProcessPlace place = place_with(with(variables, kMeeting));
    EXPECT_EQ(place.rank, 3);
    EXPECT_EQ(place.size, 4);
    EXPECT_EQ(place.local_rank, 1);
    EXPECT_EQ(place.address, "node1");
    EXPECT_EQ(place.port, 29500);
    EXPECT_FALSE(place.launcher_hosts);
  }
}

TEST(Place, WithoutALocalRankAllAreOnOneMachine) {
  EXPECT_EQ(place_with(with({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, kMeeting)).local_rank, 3);
}

// torchrun inside a Slurm job, mpirun inside another: the innermost says who we are.
TEST(Place, TheInnermostLauncherCounts) {
  const Variables slurm = {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_EQ(place_with(with(with({{"RANK", "5"}, {"WORLD_SIZE", "8"}}, slurm), kMeeting)).rank, 5);
  EXPECT_EQ(
      place_with(with(with({{"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_SIZE", "8"}}, slurm), kMeeting)).rank, 6);
}

TEST(Place, ATorchrunThatListensIsNotAskedToMakeRoom) {
  const ProcessPlace place = place_with(with({{"RANK", "0"},
                                              {"WORLD_SIZE", "2"},
                                              {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                              {"TORCHELASTIC_RESTART_COUNT", "3"}},
                                             kMeeting));
  EXPECT_TRUE(place.launcher_hosts);
  EXPECT_EQ(place.attempt, "3");
}

// In the shell of salloc, in the script of sbatch without srun (Slurm 22.05 sets all of these); and a step of one task.
TEST(Place, OneTaskOfSlurmNeedsNoMeetingPoint) {
  EXPECT_EQ(place_with({{"SLURM_NTASKS", "4"}}).size, 1);
  EXPECT_EQ(place_with({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}).size, 1);
  EXPECT_EQ(place_with({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}).size, 1);
}

// As srun of Slurm 22.05 sets them, with and without --mpi=pmi2.
TEST(Place, SrunSaysWhereTheProcessesMeet) {
  const Variables slurm = {{"SLURM_PROCID", "3"},  {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"},
                           {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "17"},        {"SLURM_STEP_ID", "0"}};
  const auto meeting_of = [&](const std::string& machines, const Variables& more = {}) {
    return place_with(with(with(slurm, {{"SLURM_STEP_NODELIST", machines}}), more));
  };
  const ProcessPlace place = meeting_of("node[03-05,9],other");
  EXPECT_EQ(place.address, "node03");
  EXPECT_GE(place.port, 20000);
  EXPECT_LT(place.port, 32000);
  EXPECT_EQ(meeting_of("vm").address, "vm");
  EXPECT_EQ(meeting_of("b1,a[1-2]").address, "b1");
  EXPECT_EQ(meeting_of("r[7]n[2-3]").address, "r7n2");
  EXPECT_EQ(meeting_of("vm").port, place.port) << "the job and its step decide";
  Variables next = slurm;
  next["SLURM_STEP_ID"] = "1";
  EXPECT_NE(place_with(with(next, {{"SLURM_STEP_NODELIST", "vm"}})).port, place.port);
  EXPECT_EQ(meeting_of("vm", kMeeting).address, "node1") << "what the user sets counts";
  EXPECT_EQ(meeting_of("vm", kMeeting).port, 29500);
  const ProcessPlace by_pmi = meeting_of("vm", {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}});
  EXPECT_EQ(by_pmi.address, "vm");
  EXPECT_EQ(by_pmi.local_rank, 1);
  // mpiexec that has started its own helpers by srun, one on each machine.
  EXPECT_ERROR(meeting_of("vm", {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}}), "MASTER_ADDR is not set");
}

// As Open MPI 4.1 sets them.
TEST(Place, MpirunOnOneMachineSaysWhereTheProcessesMeet) {
  const Variables one = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "503185409"}};
  EXPECT_ERROR(place_with(with(one, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}})), "MASTER_ADDR is not set");
  const ProcessPlace place = place_with(with(one, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}));
  EXPECT_EQ(place.address, "127.0.0.1");
  EXPECT_GE(place.port, 20000);
  EXPECT_LT(place.port, 32000);
}

TEST(Place, HalfOfTheVariablesIsAnError) {
  EXPECT_ERROR(place_with({{"RANK", "1"}}), "RANK is set, but WORLD_SIZE is not", "torchrun sets both");
  EXPECT_ERROR(place_with({{"WORLD_SIZE", "2"}}), "WORLD_SIZE is set, but RANK is not");
  EXPECT_ERROR(place_with({{"OMPI_COMM_WORLD_SIZE", "2"}}), "OMPI_COMM_WORLD_RANK is not");
  const Variables two = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  EXPECT_ERROR(place_with(two), "there are 2 processes, but MASTER_ADDR is not set", "unset RANK and WORLD_SIZE");
  EXPECT_ERROR(place_with(with(two, {{"MASTER_ADDR", "node1"}})), "MASTER_PORT is not set");
  EXPECT_ERROR(place_with(with(two, {{"MASTER_ADDR", ""}, {"MASTER_PORT", "1"}})), "MASTER_ADDR is not set");
}

TEST(Place, ContradictionsAreErrors) {
  EXPECT_ERROR(place_with(with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, kMeeting)), "RANK is 2, but WORLD_SIZE is 2",
               "from 0 to 1");
  EXPECT_ERROR(place_with(with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}, kMeeting)),
               "LOCAL_RANK is 2, but WORLD_SIZE is 2");
  EXPECT_ERROR(place_with(with({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, kMeeting)), "RANK is '-1', not a whole number");
  EXPECT_ERROR(place_with(with({{"RANK", "0"}, {"WORLD_SIZE", "two"}}, kMeeting)), "WORLD_SIZE is 'two'");
  EXPECT_ERROR(place_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
               "MASTER_PORT is '70000'", "from 1 to 65535");
}

}  // namespace
}  // namespace quench

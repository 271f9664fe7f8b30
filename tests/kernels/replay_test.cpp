// Replay on the CPU; tests/cuda/replay_test.cpp has the GPU.
#include "kernels/replay.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(Replay, RunsTheStepItselfOnTheCpu) {
  int steps = 0;
  Replay replay("cpu", [&] { ++steps; });
  for (int i = 0; i < 6; ++i) replay.run();
  EXPECT_EQ(steps, 6);
  EXPECT_FALSE(replay.is_captured());
  EXPECT_EQ(replay.refusal(), "");
}

}  // namespace
}  // namespace quench

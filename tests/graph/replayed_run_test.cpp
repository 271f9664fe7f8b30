// On the CPU a run is the executor's; tests/cuda/replay_test.cpp has the GPU.
#include "graph/replayed_run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(ReplayedRun, IsTheExecutorsRunOnTheCpu) {
  const Graph graph = parse_graph(R"(graph "g" {
    input %x : float[N, 2]
    %y = Relu "y" (%x) : float[N, 2]
    output %y
  })");
  Executor executor(graph);
  ReplayedRun run(executor, {"y"});
  for (const std::int64_t rows : {3, 1, 3}) {
    const at::Tensor x = at::randn({rows, 2});
    EXPECT_TRUE(at::equal(run.run({{"x", RtValue(x)}}).at("y").tensor(), x.relu()));
  }
}

}  // namespace
}  // namespace quench

#include "measure/fast_run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "calibrate/small_graph.h"
#include "quench/speed.h"
#include "support/expect_error.h"

namespace quench {
namespace {

Graph scores(const std::string& batch) {
  return parse_graph(
      concat("graph \"g\" {\n  input %x : float[", batch,
             ", 3]\n  const %w : float[3, 2] = {1.0, 0.0, 0.5, 1.0, -1.0, 2.0}\n  %y = MatMul \"y\" (%x, "
             "%w) : float[",
             batch, ", 2]\n  output %y\n}"));
}

TEST(FastRun, GivesTheFirstOutput) {
  const at::Tensor x = at::arange(12, at::kFloat).reshape({4, 3});
  const Graph graph = scores("\"N\"");
  const at::Tensor expected = Executor(graph).run({x})[0].tensor();
  EXPECT_TRUE(at::allclose(FastRun(graph, "cpu").run({{"x", x}}).tensor(), expected));
  EXPECT_ERROR(FastRun(graph, "cpu").run({}), "'x'");
}

TEST(Speed, MeasuresRunsOfTheGivenBatch) {
  SpeedOptions options;
  options.seconds = 0.02;
  options.threads = 1;
  const SpeedRecord record = measure_speed(scores("5"), options);
  EXPECT_EQ(record.batch, 5);
  EXPECT_EQ(record.threads, 1);
  EXPECT_GE(record.runs, 1);
  EXPECT_GT(record.items_per_second, 0.0);
  EXPECT_LE(record.least, record.p99);
  EXPECT_EQ(record.engine, has_engine_kernels());
  EXPECT_ERROR(measure_speed(scores("\"N\""), options), "x");
  options.seconds = 0;
  EXPECT_ERROR(measure_speed(scores("5"), options), "above 0 seconds");
}

}  // namespace
}  // namespace quench

// Engine::run_each: several batches side by side.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "calibrate/small_graph.h"
#include "quench/engine.h"
#include "quench/process.h"
#include "support/expect_error.h"

namespace quench {
namespace {

std::vector<std::vector<RtValue>> some_batches(int count) {
  std::vector<std::vector<RtValue>> batches;
  for (int i = 0; i < count; ++i) batches.push_back({RtValue(whole({i == 3 ? 1 : 2, 3, 8, 8}, 7 + i, 9))});
  return batches;
}

TEST(RunEach, GivesWhatOneThreadGives) {
  const std::vector<std::vector<RtValue>> batches = some_batches(7);
  Engine one(small_graph(), {.threads = 1}), three(small_graph(), {.threads = 3});
  const std::vector<std::vector<RtValue>> found = three.run_each(batches);
  ASSERT_EQ(found.size(), 7u);
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(at::equal(found[i].at(0).tensor(), one.run(batches[i]).at(0).tensor())) << i;
  EXPECT_TRUE(three.run_each({}).empty());
}

TEST(RunEach, ShowsValuesInTheOrderOfTheBatches) {
  Graph graph = small_graph();
  const Value& input = *graph.inputs()[0];
  graph.add_output(graph.value("relu1"));
  std::vector<at::Tensor> inputs, inner;
  EngineOptions options;
  options.threads = 3;
  options.watches = {{input.name(), false,
                      [&](const at::Tensor& x) {
                        if (inputs.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                        inputs.push_back(x.clone());
                      }},
                     {"relu1", false, [&](const at::Tensor& x) { inner.push_back(x.clone()); }}};
  Engine engine(graph, options);
  const std::vector<std::vector<RtValue>> batches = some_batches(8);
  for (int round = 0; round < 2; ++round) {
    inputs.clear(), inner.clear();
    engine.run_each(batches);
    ASSERT_EQ(inputs.size(), 8u);
    ASSERT_EQ(inner.size(), 8u);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      EXPECT_TRUE(at::equal(inputs[i], batches[i][0].tensor())) << i;
      const at::Tensor wanted = Executor(graph).run({{input.name(), batches[i][0]}}, {"relu1"}).at("relu1").tensor();
      EXPECT_TRUE(at::allclose(inner[i], wanted, 1e-4, 1e-4)) << i;
    }
  }
}

TEST(RunEach, AnErrorEndsAll) {
  Graph graph = small_graph();
  graph.add_output(graph.value("relu1"));
  int seen = 0;
  EngineOptions options;
  options.threads = 2;
  options.watches = {{"relu1", false, [&](const at::Tensor&) {
                        if (++seen == 3) fail("enough");
                      }}};
  Engine engine(graph, options);
  EXPECT_ERROR(engine.run_each(some_batches(6)), "enough");
  EXPECT_EQ(seen, 3);  // nobody looks after that
  seen = 10;
  engine.run_each(some_batches(6));  // and it runs again
  EXPECT_EQ(seen, 16);
  const std::vector<std::vector<RtValue>> wrong = {{RtValue(at::ones({2, 3, 8, 8}, at::kInt))}};
  EXPECT_ERROR(engine.run_each(wrong), "must be float");
}

}  // namespace
}  // namespace quench

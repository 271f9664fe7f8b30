// Evaluation by several processes gives the result of one: counts, predictions in order, and the bits of a perplexity.
#include "measure/gather_results.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "quench/error.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

Graph linear(Dims dims, std::int64_t classes) {
  at::manual_seed(5);
  Graph graph;
  const std::int64_t inner = dims.back().number();
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, std::move(dims)));
  Value& weight = graph.add_constant("w", at::randn({inner, classes}));
  graph.add_output(graph.add("MatMul", "y", {&x, &weight}).output());
  return graph;
}

std::unique_ptr<Dataset> images() {
  at::manual_seed(6);
  const at::Tensor all = at::randn({41, 8});
  return dataset_of(
      41,
      [=](std::int64_t index) -> Sample {
        QUENCH_CHECK(index != 7, "item 7 is broken");
        return {all[index], index % 6, "image " + std::to_string(index), -1};
      },
      Task::kClassify);
}

void expect_same(const EvalResult& found, const EvalResult& wanted) {
  EXPECT_EQ(found.items, wanted.items);
  EXPECT_EQ(found.indices, wanted.indices);
  EXPECT_EQ(found.names, wanted.names);
  ASSERT_EQ(found.metrics.size(), wanted.metrics.size());
  for (std::size_t i = 0; i < found.metrics.size(); ++i) {
    EXPECT_EQ(found.metrics[i].items, wanted.metrics[i].items);
    EXPECT_EQ(found.metrics[i].value, wanted.metrics[i].value);
    EXPECT_EQ(found.metrics[i].right, wanted.metrics[i].right);
    EXPECT_EQ(found.metrics[i].interval->low, wanted.metrics[i].interval->low);
  }
  EXPECT_EQ(found.predictions, wanted.predictions);
  EXPECT_EQ(found.skipped, wanted.skipped);
}

// Token t of a text is a row of the embedding, which is the logits of the next one. Losses from 1e-7 to 1e4: a sum of
// these in another order has other bits.
Graph language_model() {
  at::manual_seed(8);
  const at::Tensor spread = at::pow(10, at::linspace(0.5, 4, 9)).unsqueeze(1);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kInt64, {Dim::symbol("N"), 12}));
  Value& rows = graph.add_constant("rows", at::randn({9, 9}) * spread);
  graph.add_output(graph.add("Gather", "y", {&rows, &x}).output());
  return graph;
}

std::unique_ptr<Dataset> texts() {
  at::manual_seed(9);
  const at::Tensor all = at::randint(9, {103, 12}, at::kLong);
  return dataset_of(
      103, [=](std::int64_t index) -> Sample { return {all[index], -1, std::to_string(index), 1 + index % 12}; },
      Task::kNextToken);
}

void expect_results_of_one(const Processes& processes) {
  EvalOptions alone;
  alone.batch = 4;
  alone.skip_broken = true;
  EvalOptions shared = alone;
  shared.processes = &processes;
  const Graph classifier = linear({Dim::symbol("N"), 8}, 6);
  expect_same(evaluate(classifier, *images(), shared), evaluate(classifier, *images(), alone));
  const EvalResult wanted = evaluate(language_model(), *texts(), alone);
  EXPECT_GT(wanted.perplexity(), 1);
  expect_same(evaluate(language_model(), *texts(), shared), wanted);
  // One batch for all: most have nothing to do.
  alone.batch = shared.batch = 64;
  expect_same(evaluate(classifier, *images(), shared), evaluate(classifier, *images(), alone));
  const auto none = dataset_of(3, [](std::int64_t) -> Sample { fail("broken"); }, Task::kClassify);
  EXPECT_ERROR(evaluate(classifier, *none, shared), "no item of the data could be used (3 broken)");
}

TEST(GatherResults, OfTwoProcessesAreThoseOfOne) { together(2, expect_results_of_one); }
TEST(GatherResults, OfFourProcessesAreThoseOfOne) { together(4, expect_results_of_one); }

}  // namespace
}  // namespace quench

#include "measure/declared_fit.h"

#include <ATen/ATen.h>

#include "quench/evaluate.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// The input [N, 10], and its transpose [10, N].
Graph transposed() {
  return parse_graph(R"(graph "g" {
    input %x : float[N, 10]
    %y = Transpose "y" (%x) {perm = ints[1, 0]} : float[10, N]
    output %y
  })");
}

Graph with_output(const std::string& type) {
  return parse_graph("graph \"g\" {\n input %x : float[N, 10]\n %y = Relu \"y\" (%x) : " + type + "\n output %y\n}");
}

std::unique_ptr<Dataset> rows(std::int64_t count, std::vector<std::int64_t> labels) {
  const at::Tensor rows = at::eye(10);
  std::vector<at::Tensor> items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(rows[i % 10]);
  return dataset_of(std::move(items), std::move(labels));
}

// Ten items of ten classes: a row of the output has the size of a column.
TEST(DeclaredFit, AnAxisOfTheSameSizeIsNotThatOfTheItems) {
  const auto data = rows(10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Graph graph = transposed();
  EvalOptions options;
  options.batch = 10;
  EXPECT_ERROR(evaluate(graph, *data, options),
               "the output 'y' is float[10, N]: its first axis is not the batch N, so items cannot be told apart in a "
               "batch of 10; use a batch of 1");
  EXPECT_ERROR(check_evaluates(graph, *data, options), "its first axis is not the batch N");
  options.batch = 1;
  EXPECT_EQ(evaluate(graph, *data, options).metric("top1").right, 10);
}

TEST(DeclaredFit, DecidesByTheTypeWhereItCan) {
  const auto check = [](const std::string& type, std::int64_t count) {
    const Graph graph = with_output(type);
    check_item_axis(graph, *graph.outputs()[0], count);
  };
  for (const char* type : {"float[M, N]", "float[?, N]", "float[7, N]", "float[4, 3]"})
    EXPECT_ERROR(check(type, 4), "its first axis is not the batch N, so items cannot be told apart in a batch of 4");
  for (const char* type : {"float[N, 10]", "float[N, N]", "float[M, 10]", "float[?, 10]", "float[1, 10]", "float[*]"})
    EXPECT_NO_THROW(check(type, 4)) << type << ": its size will tell";
  EXPECT_NO_THROW(check("float[7, N]", 1));
}

// Before the model runs: the data alone says it.
TEST(DeclaredFit, LabelsAreAmongTheClasses) {
  const Graph graph = with_output("float[N, 10]");
  const auto check = [&](std::vector<std::int64_t> labels) { check_evaluates(graph, *rows(3, std::move(labels)), {}); };
  EXPECT_NO_THROW(check({0, 9, 5}));
  EXPECT_ERROR(check({0, 9, 10}), "item '2' has label 10, but the model has 10 classes");
  EXPECT_ERROR(check({0, -1, 9}), "item '1' has label -1, but the model has 10 classes");
  const Graph open = with_output("float[N, ?]");
  EXPECT_NO_THROW(check_evaluates(open, *rows(3, {0, 9, 10}), {})) << "nobody knows how many there are";
}

}  // namespace
}  // namespace quench

// examples/own_ptq_method.cpp on layers whose output channels are not axis 0 of their weights; its own test has others.
#include <ATen/ATen.h>

#include <filesystem>

#include "cli/demo.h"
#include "quench/export.h"
#include "quench/op.h"

namespace quench {
namespace {

std::string example_path() { return std::filesystem::path(program_path()).parent_path() / "example_own_ptq_method"; }

Outcome run_example(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  return wait_for(start_program(arguments, folder, example_path()), folder);
}

// Products of the same width on both sides: scales along the wrong axis would fit them, too.
Graph transposed_layers() {
  at::manual_seed(3);
  Graph graph;
  const auto with_weight = [&](const char* op, const std::string& name, Value& x, const at::Tensor& weight) -> Value& {
    return graph.add(op, name, {&x, &graph.add_constant(name + ".weight", weight)}).output();
  };
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 1, 28, 28}));
  Value& small = graph.add("AveragePool", "pool", {&x}).output();
  small.producer()->attrs = {{"kernel_shape", std::vector<std::int64_t>{4, 4}},
                             {"strides", std::vector<std::int64_t>{4, 4}}};
  Value& up = with_weight("ConvTranspose", "up", small, at::randn({1, 16, 3, 3}) / 3);
  Value& up2 =
      with_weight("ConvTranspose", "up2", graph.add("Relu", "up.relu", {&up}).output(), at::randn({16, 16, 2, 2}) / 8);
  // A row of it is large, a column small.
  at::Tensor square = at::randn({10, 10}) / 4;
  square.select(0, 1).mul_(4);
  square.select(1, 2).mul_(0.1);
  Value& y = with_weight("MatMul", "square", graph.add("Relu", "up2.relu", {&up2}).output(), square);
  graph.add_output(
      with_weight("MatMul", "last", graph.add("Relu", "square.relu", {&y}).output(), at::randn({10, 4}) / 4));
  infer_shapes(graph);
  return graph;
}

TEST(OwnMethodExample, LearnsLayersOfEveryAxis) {
  if (!std::filesystem::exists(example_path())) GTEST_SKIP() << "the examples are not built";
  const TemporaryFolder folder;
  export_onnx(transposed_layers(), folder.path("m.onnx"));
  const Outcome outcome = run_example({folder.path("m.onnx"), demo_data(0, 128)});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const char* layer : {"up ", "up2 ", "square ", "last "})
    EXPECT_NE(outcome.out.find(layer), std::string::npos) << layer << outcome.out;
}

TEST(OwnMethodExample, SaysWhatIsWrong) {
  if (!std::filesystem::exists(example_path())) GTEST_SKIP() << "the examples are not built";
  expect_refused(run_example({"missing.onnx", demo_data(0, 8)}), "missing.onnx");
  expect_refused(run_example({}), "MODEL DATA");
}

}  // namespace
}  // namespace quench

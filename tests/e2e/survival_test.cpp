// Three kinds of model that easily lose something on the way: fp16 weights, dynamic height and width, a
// Loop. Each survives the text form and the ONNX round trip: same text, same outputs to the bit.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/op.h"

namespace quench {
namespace {

void expect_survival(Graph graph, const std::vector<std::vector<RtValue>>& inputs) {
  infer_shapes(graph);
  graph.verify();
  // Parameters are marked by the reader; a second reading must change nothing.
  const Graph imported = import_onnx_bytes(export_onnx_bytes(graph));
  const Graph again = import_onnx_bytes(export_onnx_bytes(imported));
  EXPECT_EQ(to_text(again), to_text(imported));
  const Graph parsed = parse_graph(to_text(graph));
  EXPECT_EQ(to_text(parsed), to_text(graph));
  for (const auto& in : inputs) {
    const at::Tensor expected = Executor(graph).run(in)[0].tensor();
    EXPECT_TRUE(bit_equal(Executor(parsed).run(in)[0].tensor(), expected));
    EXPECT_TRUE(bit_equal(Executor(imported).run(in)[0].tensor(), expected));
  }
}

TEST(Survival, OfHalfPrecisionWeights) {
  at::manual_seed(1);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat16, {Dim::symbol("N"), 3, 8, 8}));
  Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", at::randn({4, 3, 3, 3}).to(at::kHalf))});
  graph.add_output(graph.add("Relu", "y", {&conv.output()}).output());
  expect_survival(std::move(graph), {{RtValue(at::randn({2, 3, 8, 8}).to(at::kHalf))}});
}

TEST(Survival, OfDynamicHeightAndWidth) {
  at::manual_seed(2);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 3, Dim::symbol("H"), Dim::symbol("W")}));
  Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", at::randn({3, 3, 3, 3}))});
  conv.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
  Node& shape = graph.add("Shape", "shape", {&x});
  Node& flat = graph.add("Reshape", "flat", {&conv.output(), &graph.add_constant("minus", integer_tensor({1, -1}))});
  Node& back = graph.add("Reshape", "back", {&flat.output(), &shape.output()});
  graph.add_output(graph.add("Add", "y", {&back.output(), &x}).output());
  infer_shapes(graph);
  EXPECT_EQ(text_of(graph.value("back").dims()), "[1, 3, H, W]");
  expect_survival(std::move(graph), {{RtValue(at::randn({1, 3, 8, 8}))}, {RtValue(at::randn({1, 3, 5, 9}))}});
}

// y = x * scale, repeated `times` times; scale is captured from the graph around.
TEST(Survival, OfALoopThatCaptures) {
  auto body = std::make_shared<Graph>();
  body->name = "body";
  body->add_input("i", TypeInfo::tensor(DType::kInt64, {}));
  Value& go = body->add_input("go", TypeInfo::tensor(DType::kBool, {}));
  Value& state = body->add_input("state", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N")}));
  Value& captured = body->add_input("scale", TypeInfo::tensor(DType::kFloat, {1}));
  body->add_output(body->add("Identity", "go_on", {&go}).output());
  body->add_output(body->add("Mul", "next", {&state, &captured}).output());

  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N")}));
  Value& scale = graph.add_input("factor", TypeInfo::tensor(DType::kFloat, {1}));
  Value& times = graph.add_constant("times", at::scalar_tensor(3, at::kLong));
  Value& yes = graph.add_constant("yes", at::scalar_tensor(true, at::kBool));
  Node& loop = graph.add("Loop", "loop", {&times, &yes, &x, &scale});
  loop.attrs["body"] = body;
  loop.captures = 1;
  graph.add_output(graph.add("Relu", "y", {&loop.output()}).output());
  const at::Tensor in = at::tensor({1.0F, -2.0F, 3.0F}), factor = at::tensor({2.0F});
  EXPECT_TRUE(at::equal(Executor(graph).run({RtValue(in), RtValue(factor)})[0].tensor(), at::relu(in * 8)));
  expect_survival(std::move(graph), {{RtValue(in), RtValue(factor)}});
}

}  // namespace
}  // namespace quench

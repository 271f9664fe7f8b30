#include <gtest/gtest.h>

#include "deploy/ranged_graph.h"

namespace quench {
namespace {

constexpr const char* kInt8 = "int8 symmetric tensor narrow";

nlohmann::json range(double max) { return {{"min", -max}, {"max", max}}; }
nlohmann::json range(double max, int emin) { return {{"min", -max}, {"max", max}, {"emin", emin}}; }
nlohmann::json bias(double alpha) { return {{"alpha", alpha}, {"zero_point", 0}}; }

nlohmann::json minmax_of(const Graph& graph) {
  return json_of(deployed(planned(graph, "stpu")), "net_stpu_minmax.json");
}

// conv: the range of the Relu after it. emin: K = 3 products, sqrt(3) * 63.5 * 31.75 = 3492 against 127, 2^11 <= 3492:
// E = 127 + 11, less 10. fc is fixed to 128 and has no bias.
TEST(ExportStpu, Ranges) {
  const nlohmann::json expected = {
      {"x", range(63.5)},          {"conv_weights", range(31.75)}, {"conv_bias", bias(0.125)},
      {"conv", range(127.0, 128)}, {"relu", range(127.0)},         {"pool", range(15.875)},
      {"flat", range(15.875)},     {"fc_weights", range(7.9375)},  {"y", range(254.0, 128)}};
  EXPECT_EQ(minmax_of(ranged_net(kInt8, kInt8)), expected);
  expect_stripped(deployed(planned(ranged_net(kInt8, kInt8), "stpu")), "net_for_stpu.onnx");
}

// x -> conv (w, b) -> mul by `factor` -> y
Graph multiplied(const at::Tensor& factor) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2, 2, 2}));
  Value& w = graph.add_constant("w", whole({2, 2, 1, 1}, 1, 3));
  Value& b = graph.add_constant("b", at::tensor({1.0F, 2.0F}));
  Value& conv = graph.add("Conv", "conv", {&x, &w, &b}).output();
  graph.add_output(
      graph.add("Mul", "mul", {&conv, &graph.add_constant("c", factor)}, std::vector<std::string>{"y"}).output());
  run_passes(graph, {"infer_shapes"});
  quantize(graph, "x", kInt8, {{0.5F}, {0}});
  quantize(graph, "w", kInt8, {{0.25F}, {0}});
  quantize(graph, "conv", kInt8, {{1.0F}, {0}});
  return graph;
}

// Weight, bias and range are scaled by -2; ranges have no sign. emin: sqrt(2) * 63.5 * 63.5 = 5702: 127 + 12 - 10.
TEST(ExportStpu, FoldsAConstantMul) {
  const Graph graph = planned(multiplied(at::tensor(-2.0F)), "stpu");
  const nlohmann::json expected = {
      {"x", range(63.5)}, {"conv_weights", range(63.5)}, {"conv_bias", bias(0.25)}, {"y", range(254.0, 129)}};
  const Deployment deployment = deployed(graph);
  EXPECT_EQ(json_of(deployment, "net_stpu_minmax.json"), expected);
  const Graph model = read_back(file_of(deployment, "net_for_stpu.onnx"));
  EXPECT_EQ(model.nodes().size(), 1U);
  EXPECT_TRUE(at::equal(model.value("b").tensor(), at::tensor({-2.0F, -4.0F})));
  EXPECT_TRUE(at::equal(model.value("w").tensor(), whole({2, 2, 1, 1}, 1, 3) * -2));
}

TEST(ExportStpu, AMulByMoreThanANumberStays) {
  const Graph graph = planned(multiplied(at::tensor({2.0F, 3.0F}).reshape({1, 2, 1, 1})), "stpu");
  const Deployment deployment = deployed(graph);
  EXPECT_EQ(read_back(file_of(deployment, "net_for_stpu.onnx")).nodes().size(), 2U);
  EXPECT_EQ(json_of(deployment, "net_stpu_minmax.json")["conv_weights"], range(31.75));
}

// x -> sigmoid, x -> up (Resize); both -> join -> y
TEST(ExportStpu, ConcatSigmoidAndResize) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 1, 2, 2}));
  Value& scales = graph.add_constant("scales", at::ones({4}));
  Node& up = graph.add("Resize", "up", {&x, nullptr, &scales});
  Value& sigmoid = graph.add("Sigmoid", "sigmoid", {&x}).output();
  Value& side = graph.add("Exp", "side", {&x}).output();
  Node& join = graph.add("Concat", "join", {&up.output(), &side, &sigmoid}, std::vector<std::string>{"y"});
  join.attrs["axis"] = std::int64_t{1};
  graph.add_output(join.output());
  run_passes(graph, {"infer_shapes"});
  quantize(graph, "up", kInt8, {{4.0F}, {0}});
  quantize(graph, "y", kInt8, {{2.0F}, {0}});
  // Resize: E(254) - 20 = 134 - 20. It passes its range back to x.
  const nlohmann::json expected = {{"x", range(254.0)},
                                   {"up", range(254.0, 114)},
                                   {"sigmoid", range(1.0)},
                                   {"side", range(254.0)},
                                   {"y", range(254.0)}};
  EXPECT_EQ(minmax_of(graph), expected);
}

TEST(ExportStpu, ConcatOfConcat) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 1, 2, 2}));
  Value& side = graph.add("Exp", "side", {&x}).output();
  Node& inner = graph.add("Concat", "inner", {&x, &side});
  Node& outer = graph.add("Concat", "outer", {&inner.output(), &side}, std::vector<std::string>{"y"});
  for (Node* node : {&inner, &outer}) node->attrs["axis"] = std::int64_t{1};
  graph.add_output(outer.output());
  run_passes(graph, {"infer_shapes"});
  quantize(graph, "y", kInt8, {{2.0F}, {0}});
  for (const char* name : {"x", "side", "inner", "y"}) EXPECT_EQ(minmax_of(graph)[name], range(254.0)) << name;
}

// K of a transposed convolution: the channels that it reads, by the elements of its kernel: 2 * 4.
// sqrt(8) * 127 * 127 = 45619: 127 + 15 - 10.
TEST(ExportStpu, ConvTranspose) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2, 2, 2}));
  Value& w = graph.add_constant("w", at::ones({2, 5, 2, 2}));
  graph.add_output(graph.add("ConvTranspose", "conv", {&x, &w}, std::vector<std::string>{"y"}).output());
  run_passes(graph, {"infer_shapes"});
  for (const char* name : {"x", "w", "y"}) quantize(graph, name, kInt8, {{1.0F}, {0}});
  const nlohmann::json expected = {{"x", range(127.0)}, {"conv_weights", range(127.0)}, {"y", range(127.0, 132)}};
  EXPECT_EQ(minmax_of(graph), expected);
}

TEST(ExportStpu, Refuses) {
  Graph channels = plain_net();
  quantize(channels, "w", "int8 symmetric channel:0 narrow", {{0.25F, 0.5F}, {0, 0}});
  EXPECT_NE(refusal_of(planned(channels, "stpu")).find("STPU takes one scale per tensor"), std::string::npos);
  Graph four = planned(ranged_net(kInt8, "int4 symmetric tensor"), "stpu");
  EXPECT_NE(refusal_of(four).find("'w' is quantized as 'int4 symmetric tensor'; STPU takes 8 bits"), std::string::npos);
  Graph named = ranged_net(kInt8, kInt8);
  named.rename(named.value("relu"), "fc_weights");
  EXPECT_NE(refusal_of(planned(named, "stpu")).find("'fc_weights'"), std::string::npos);
}

}  // namespace
}  // namespace quench

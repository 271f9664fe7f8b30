#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

// state' = state + x * captured, and gives the state out at every step
GraphPtr sum_body() {
  auto body = std::make_shared<Graph>();
  Value& state = body->add_input("state", TypeInfo::tensor(DType::kFloat, {2}));
  Value& x = body->add_input("x", TypeInfo::tensor(DType::kFloat, {2}));
  Value& captured = body->add_input("captured");
  Node& product = body->add("Mul", "product", {&x, &captured});
  Node& sum = body->add("Add", "sum", {&state, &product.output()});
  body->add_output(sum.output());
  body->add_output(sum.output());
  return body;
}

Graph scan_of_eight(bool lengths) {
  Graph graph;
  Value& states = graph.add_input("states", TypeInfo::tensor(DType::kFloat, {4, 2}));
  Value& xs = graph.add_input("xs", TypeInfo::tensor(DType::kFloat, {4, 3, 2}));
  Value& factor = graph.add_input("factor", TypeInfo::tensor(DType::kFloat, {1}));
  Value* first = lengths ? &graph.add_input("lengths") : nullptr;
  Node& scan = graph.add("Scan", "scan", {first, &states, &xs, &factor}, 2);
  scan.captures = 1;
  scan.attrs = {{"body", sum_body()}, {"num_scan_inputs", std::int64_t{1}}, {"directions", Ints{1}}};
  graph.add_output(scan.output(0));
  graph.add_output(scan.output(1));
  return graph;
}

TEST(UpgradeScan, ABatchIsAScanOfItsOwn) {
  Graph graph = scan_of_eight(false);
  upgrade_graph(graph, {{"", 8}});
  EXPECT_EQ(describe(graph), "scan, scan:1 = Scan(states, xs, factor) body=... num_scan_inputs=2");
  const Graph& batch = graph.find_node("scan")->require_graph("body");
  EXPECT_EQ(describe(batch),
            "scan, scan:1 = Scan(in_0, in_1, in_2) body=... num_scan_inputs=1 scan_input_directions=[1]");
  EXPECT_EQ(batch.inputs()[1]->type().text(), "float[3, 2]");
  EXPECT_EQ(batch.inputs()[2]->type().text(), "float[1]");
  EXPECT_EQ(describe(batch.find_node("scan")->require_graph("body")),
            "product = Mul(x, captured); sum = Add(state, product)");
}

TEST(UpgradeScan, RefusesSequenceLengths) {
  Graph graph = scan_of_eight(true);
  EXPECT_EQ(message_of([&] { upgrade_graph(graph, {{"", 8}}); }),
            "the sequence lengths of a Scan of opset 8 are not supported; convert the model to opset 9 or newer "
            "first\n  while upgrading node 'scan' (Scan) to opset 9");
}

TEST(UpgradeScan, RefusesAScanWithoutABody) {
  Graph graph = scan_of_eight(false);
  graph.find_node("scan")->attrs.erase("body");
  EXPECT_EQ(message_of([&] { upgrade_graph(graph, {{"", 8}}); }),
            "node 'scan' (Scan): attribute 'body' is missing\n  while upgrading node 'scan' (Scan) to opset 9");
}

}  // namespace
}  // namespace quench

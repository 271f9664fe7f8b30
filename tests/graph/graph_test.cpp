#include "quench/graph.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "quench/error.h"
#include "quench/executor.h"
#include "support/message_of.h"

namespace quench {
namespace {

// x -> Relu a -> Relu b -> output
Graph two_relus() {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  Node& a = graph.add("Relu", "a", {&x});
  Node& b = graph.add("Relu", "b", {&a.output()});
  graph.add_output(b.output());
  return graph;
}

TEST(Graph, KeepsUsesInStepWithInputs) {
  Graph graph = two_relus();
  Value& x = graph.value("x");
  Node& a = *graph.find_node("a");
  Node& b = *graph.find_node("b");
  EXPECT_EQ(a.output().uses(), (std::vector<Value::Use>{{&b, 0}}));
  graph.set_input(b, 0, &x);
  EXPECT_TRUE(a.output().uses().empty());
  EXPECT_EQ(x.uses().size(), 2U);
  graph.verify();
}

TEST(Graph, RefusesToEraseWhatIsUsed) {
  Graph graph = two_relus();
  EXPECT_EQ(message_of([&] { graph.erase(*graph.find_node("a")); }),
            "cannot erase node 'a' (Relu): its output 'a' is used by node 'b' (Relu)");
  EXPECT_EQ(message_of([&] { graph.erase(*graph.find_node("b")); }),
            "cannot erase node 'b' (Relu): its output 'b' is an output of the graph");
}

TEST(Graph, SortFindsACycle) {
  Graph graph = two_relus();
  graph.set_input(*graph.find_node("a"), 0, &graph.value("b"));
  EXPECT_EQ(message_of([&] { graph.sort(); }), "the graph has a cycle through node 'a' (Relu)");
}

TEST(Graph, CopySharesTensorsAndCloneDoesNot) {
  Graph graph;
  graph.add_constant("w", at::ones({2}));
  const Graph copy = graph, clone = graph.clone();
  EXPECT_TRUE(copy.value("w").tensor().is_same(graph.value("w").tensor()));
  EXPECT_NE(clone.value("w").tensor().data_ptr(), graph.value("w").tensor().data_ptr());
}

TEST(Executor, RunsAPartOfTheGraph) {
  const Graph graph = two_relus();
  Executor executor(graph);
  const at::Tensor x = at::tensor({-1.0F, 2.0F, -3.0F}).reshape({1, 3});
  EXPECT_TRUE(at::equal(executor.run({RtValue(x)})[0].tensor(), at::relu(x)));
  EXPECT_TRUE(at::equal(executor.run({{"a", x}}, {"b"}).at("b").tensor(), at::relu(x)));
  EXPECT_EQ(message_of([&] { executor.run({{"b", x}}, {"a"}); }),
            "graph input 'x' is needed for this run but was not given");
}

TEST(Graph, ARevisionIsNeverUsedTwice) {
  Graph graph;
  std::set<std::uint64_t> seen = {graph.revision()};
  const auto is_new = [&] { return seen.insert(graph.revision()).second; };
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2}));
  EXPECT_TRUE(is_new());
  Value& c = graph.add_constant("c", at::ones({2}));
  EXPECT_TRUE(is_new());
  Node& relu = graph.add("Relu", "relu", {&x});
  EXPECT_TRUE(is_new());
  graph.add_output(relu.output());
  EXPECT_TRUE(is_new());
  graph.set_input(relu, 0, &c);
  EXPECT_TRUE(is_new());
  graph.set_op(relu, "Neg");
  EXPECT_TRUE(is_new());
  graph.set_tensor(c, at::zeros({2}));
  EXPECT_TRUE(is_new());
  graph.rename(c, "d");
  EXPECT_TRUE(is_new());
  graph.erase(x);
  EXPECT_TRUE(is_new());
  const Graph copy = graph;
  EXPECT_TRUE(seen.insert(copy.revision()).second) << "a copy has nodes of its own";
  relu.attrs["alpha"] = 1.0;
  EXPECT_FALSE(is_new());
}

}  // namespace
}  // namespace quench

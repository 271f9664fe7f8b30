// Stubs in a graph: only what lies between them is quantized, whatever the platform.
#include "platforms/plan/stubs.h"

#include <gtest/gtest.h>

#include "platforms/small_graph.h"

namespace quench {
namespace {

Graph stubbed() {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[1, 2, 2, 2]
    const %a.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %b.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    const %c.weight : float[2, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0}
    %a = Conv "a" (%x, %a.weight)
    %begin = quench.QuantStub "begin" (%a)
    %b = Conv "b" (%begin, %b.weight)
    %end = quench.DeQuantStub "end" (%b)
    %c = Conv "c" (%end, %c.weight)
    output %c
  })");
  infer_shapes(graph);
  return graph;
}

TEST(Stubs, TellInsideFromOutside) {
  const Graph graph = stubbed();
  std::set<std::string> outside;
  for (const Node* node : nodes_outside_stubs(graph)) outside.insert(node->name());
  EXPECT_EQ(outside, (std::set<std::string>{"a", "c"}));
  EXPECT_TRUE(nodes_outside_stubs(small_graph()).empty());
}

TEST(Stubs, QuantizeOnlyWhatLiesBetween) {
  for (const char* platform : {"fbgemm", "mmrazor_native"}) {
    const QuantPlan plan = make_plan(stubbed(), config_for(platform));
    EXPECT_EQ(quantized_values(plan), "begin b") << platform;
    EXPECT_EQ(plan.count(Role::kWeight), 1) << platform;
    EXPECT_EQ(reason_of(plan, "a.weight"), "'a' lies outside of the stubs") << platform;
  }
}

// Quantized from the graph's inputs up to the DeQuantStub.
TEST(Stubs, AnEndAloneIsEnough) {
  Graph graph = stubbed();
  Node& begin = *graph.find_node("begin");
  graph.replace_uses(begin.output(), *begin.input(0));
  graph.erase(begin);
  EXPECT_EQ(quantized_values(make_plan(graph, config_for("fbgemm"))), "x a b");
}

}  // namespace
}  // namespace quench

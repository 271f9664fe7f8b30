#include "graph/border.h"

#include <gtest/gtest.h>

#include "quench/op.h"

namespace quench {
namespace {

Graph bordered() {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float16[2]
    input %u : uint8[2]
    %wide = Cast "wide" (%x) {to = 1}
    %number = Cast "number" (%u) {to = 1}
    %a = Add "a" (%wide, %number)
    %b = Relu "b" (%a)
    %y = Cast "y" (%b) {to = 10}
    %z = Cast "z" (%a) {to = 10}
    output %y
    output %z
  })");
  infer_shapes(graph);
  return graph;
}

TEST(Border, IsSeenThrough) {
  const Graph graph = bordered();
  EXPECT_TRUE(is_model_input(graph.value("x")));
  EXPECT_TRUE(is_model_input(graph.value("wide")));
  EXPECT_FALSE(is_model_input(graph.value("number")));  // bytes become numbers: a computation
  EXPECT_FALSE(is_model_input(graph.value("a")));
  EXPECT_EQ(values_of_input(graph.value("x")).size(), 2U);
  EXPECT_EQ(values_of_input(graph.value("u")).size(), 1U);
  EXPECT_TRUE(is_model_output(graph.value("y")));
  EXPECT_TRUE(is_model_output(graph.value("b")));
  EXPECT_TRUE(is_model_output(graph.value("a")));
  EXPECT_FALSE(is_model_output(graph.value("wide")));
  EXPECT_EQ(&source_of_output(graph.value("y")), &graph.value("b"));
  EXPECT_EQ(&source_of_output(graph.value("b")), &graph.value("b"));
  EXPECT_TRUE(leaves_only(graph.value("b")));
  EXPECT_FALSE(leaves_only(graph.value("a")));  // b reads it too
}

}  // namespace
}  // namespace quench

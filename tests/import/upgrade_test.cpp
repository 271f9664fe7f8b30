#include "import/upgrade.h"

#include <gtest/gtest.h>

#include "quench/error.h"

namespace quench {
namespace {

TEST(Upgrade, RefusesANodeOfADomainThatTheFileDoesNotImport) {
  Graph graph;
  graph.add("Relu", "r", {&graph.add_input("x")});
  try {
    upgrade_graph(graph, {{"com.microsoft", 1}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "node 'r' (Relu) is of ONNX's own domain, but the file imports no opset of it");
  }
}

TEST(Upgrade, InfersTypesOnTheWay) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  Node& node = graph.add("Relu", "r", {&x});
  upgrade_graph(graph, {{"", 9}});
  EXPECT_EQ(node.output().type().text(), "float[N, 3]");
}

}  // namespace
}  // namespace quench

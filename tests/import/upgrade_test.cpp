#include "import/upgrade/upgrade.h"

#include <gtest/gtest.h>

#include "import/one_node.h"

namespace quench {
namespace {

TEST(Upgrade, RefusesANodeOfADomainThatTheFileDoesNotImport) {
  Graph graph;
  graph.add("Relu", "r", {&graph.add_input("x")});
  EXPECT_EQ(message_of([&] { upgrade_graph(graph, {{"com.microsoft", 1}}); }),
            "node 'r' (Relu) is of ONNX's own domain, but the file imports no opset of it");
}

TEST(Upgrade, InfersTypesOnTheWay) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3}));
  Node& node = graph.add("Relu", "r", {&x});
  upgrade_graph(graph, {{"", 9}});
  EXPECT_EQ(node.output().type().text(), "float[N, 3]");
}

TEST(Upgrade, ReachesIntoBodiesAndTellsThemTypes) {
  auto body = std::make_shared<Graph>();
  Node& clip = body->add("Softmax", "s", {&body->add_input("captured")});
  body->add_output(clip.output());
  Graph graph;
  Value& condition = graph.add_input("condition", TypeInfo::tensor(DType::kBool, Dims{}));
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 5}));
  Node& node = graph.add("If", "if", {&condition, &x});
  node.captures = 1;
  node.attrs = {{"then_branch", body}, {"else_branch", std::make_shared<Graph>(*body)}};
  upgrade_graph(graph, {{"", 9}});
  EXPECT_EQ(describe(node.require_graph("then_branch")), "s = Softmax(captured) axis=1");
  EXPECT_EQ(describe(node.require_graph("else_branch")), "s = Softmax(captured) axis=1");
}

TEST(Upgrade, RulesHandOnAcrossVersionsAndNames) {
  EXPECT_EQ(OneNode("Upsample", {{"scales", Floats{1, 2}}}).upgraded_from(8),
            "out = Resize(x, -, {1, 2}) coordinate_transformation_mode=asymmetric nearest_mode=floor");
}

TEST(Upgrade, LeavesOperatorsOfTheDialectAlone) {
  EXPECT_EQ(OneNode("Clip", {{2}, {}, {}}, {}).upgraded_from(21), "out = Clip(x, y, z)");
  EXPECT_EQ(OneNode("Clip", {{2}, {}, {}}, {}).upgraded_from(24), "out = Clip(x, y, z)");
}

}  // namespace
}  // namespace quench

// Bodies of If and Loop: what they capture becomes explicit; small constants are copied in.
#include <ATen/ATen.h>

#include "import/onnx_files.h"
#include "quench/op.h"

namespace quench {
namespace {

Graph import_any(const ModelProto& model) {
  return import_onnx_bytes(model.SerializeAsString(), "", {.allow_unsupported = true});
}

GraphProto& add_body(NodeProto& node, const std::string& key) {
  return *add_attribute(node, key, AttributeProto::GRAPH).mutable_g();
}

std::vector<std::string> names_of(const std::vector<Value*>& values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(value ? value->name() : "");
  return names;
}

using Names = std::vector<std::string>;

TEST(OnnxBodies, BranchesTakeTheSameCapturesInTheSameOrder) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  set_type(*graph.add_input(), "cond", TensorProto::BOOL, {});
  NodeProto& choice = add_node(graph, "If", {"cond"}, {"r"});
  GraphProto& then_body = add_body(choice, "then_branch");
  add_node(then_body, "Relu", {"y"}, {"a"});
  then_body.add_output()->set_name("a");
  GraphProto& else_body = add_body(choice, "else_branch");
  add_node(else_body, "Relu", {"x"}, {"b"});
  else_body.add_output()->set_name("b");
  const Graph read = import_any(model);
  const Node& node = *read.find_node("r");
  EXPECT_EQ(node.captures, 2);
  EXPECT_EQ(names_of(node.inputs()), (Names{"cond", "x", "y"}));
  for (const char* key : {"then_branch", "else_branch"})
    EXPECT_EQ(names_of(node.require_graph(key).inputs()), (Names{"x", "y"})) << key;
  EXPECT_EQ(node.require_graph("else_branch").inputs()[0]->type().text(), "float[2, 3]");
}

TEST(OnnxBodies, SmallConstantsAreCopiedWithTheirTensorShared) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  fill_floats(*graph.add_initializer(), "small", {1024}, std::vector<float>(1024, 1));
  fill_floats(*graph.add_initializer(), "large", {1025}, std::vector<float>(1025, 1));
  NodeProto& choice = add_node(graph, "If", {"x"}, {"r"});
  GraphProto& body = add_body(choice, "then_branch");
  add_node(body, "NoSuchOp", {"small", "large"}, {"a"});
  body.add_output()->set_name("a");
  GraphProto& other = add_body(choice, "else_branch");
  add_node(other, "Relu", {"x"}, {"b"});
  other.add_output()->set_name("b");
  const Graph read = import_any(model);
  const Node& node = *read.find_node("r");
  EXPECT_EQ(names_of(node.inputs()), (Names{"x", "large", "x"}));
  const Graph& then_body = node.require_graph("then_branch");
  EXPECT_TRUE(then_body.value("small").is_constant());
  EXPECT_TRUE(then_body.value("small").tensor().is_same(read.value("small").tensor()));
  EXPECT_TRUE(then_body.value("large").is_input());
  EXPECT_FALSE(node.require_graph("else_branch").find_value("small")) << "only where it is read";
}

TEST(OnnxBodies, NestedBodiesCaptureThroughEachLevel) {
  ModelProto model = relu_model();
  NodeProto& outer = add_node(*model.mutable_graph(), "If", {"x"}, {"r"});
  GraphProto& middle = add_body(outer, "then_branch");
  NodeProto& inner = add_node(middle, "If", {"x"}, {"m"});
  middle.add_output()->set_name("m");
  for (const char* key : {"then_branch", "else_branch"}) {
    GraphProto& deepest = add_body(inner, key);
    add_node(deepest, "Relu", {"y"}, {"d"});
    deepest.add_output()->set_name("d");
  }
  GraphProto& other = add_body(outer, "else_branch");
  add_node(other, "Relu", {"y"}, {"o"});
  other.add_output()->set_name("o");
  const Graph read = import_any(model);
  const Node& node = *read.find_node("r");
  EXPECT_EQ(names_of(node.inputs()), (Names{"x", "x", "y"}));
  const Graph& body = node.require_graph("then_branch");
  EXPECT_EQ(names_of(body.inputs()), (Names{"x", "y"}));
  EXPECT_EQ(names_of(body.find_node("m")->inputs()), (Names{"x", "y"}));
  EXPECT_EQ(body.find_node("m")->captures, 1);
  EXPECT_EQ(names_of(body.find_node("m")->require_graph("then_branch").inputs()), (Names{"y"}));
}

TEST(OnnxBodies, ALoopKeepsItsFirstTwoInputsInPlace) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  set_type(*graph.add_input(), "count", TensorProto::INT64, {});
  NodeProto& loop = add_node(graph, "Loop", {"count"}, {"scan"});
  GraphProto& body = add_body(loop, "body");
  for (const char* name : {"i", "go"}) body.add_input()->set_name(name);
  add_node(body, "Relu", {"x"}, {"row"});
  for (const char* name : {"go", "row"}) body.add_output()->set_name(name);
  const Graph read = import_any(model);
  const Node& node = *read.find_node("scan");
  EXPECT_EQ(names_of(node.inputs()), (Names{"count", "", "x"}));
  EXPECT_EQ(names_of(node.require_graph("body").inputs()), (Names{"i", "go", "x"}));
}

TEST(OnnxBodies, MayHideAnOuterName) {
  ModelProto model = relu_model();
  NodeProto& choice = add_node(*model.mutable_graph(), "If", {"x"}, {"r"});
  GraphProto& then_body = add_body(choice, "then_branch");
  add_node(then_body, "Relu", {"y"}, {"a"});
  then_body.add_output()->set_name("a");
  GraphProto& else_body = add_body(choice, "else_branch");
  add_node(else_body, "Neg", {"x"}, {"y"});  // its own y
  else_body.add_output()->set_name("y");
  const Graph read = import_any(model);
  const Graph& body = read.find_node("r")->require_graph("else_branch");
  EXPECT_EQ(body.outputs()[0]->producer()->op(), "Neg");
  EXPECT_EQ(names_of(body.inputs()), (Names{"x", "y:outer"}));
}

TEST(OnnxBodies, MayHandOutAnOuterValue) {
  ModelProto model = relu_model();
  NodeProto& choice = add_node(*model.mutable_graph(), "If", {"x"}, {"r"});
  add_body(choice, "then_branch").add_output()->set_name("y");
  add_body(choice, "else_branch").add_output()->set_name("x");
  const Graph read = import_any(model);
  const Graph& body = read.find_node("r")->require_graph("then_branch");
  EXPECT_EQ(body.outputs()[0], &body.value("y"));
  EXPECT_TRUE(body.outputs()[0]->is_input());
}

}  // namespace
}  // namespace quench

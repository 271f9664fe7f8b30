// Local functions: inlined, with attributes, defaults, bodies and nesting; and what is refused.
#include "import/onnx_files.h"
#include "quench/op.h"

namespace quench {
namespace {

FunctionProto& add_function(ModelProto& model, const std::string& name, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs) {
  FunctionProto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name(name);
  for (const std::string& input : inputs) function.add_input(input);
  for (const std::string& output : outputs) function.add_output(output);
  function.add_opset_import()->set_version(21);
  return function;
}

NodeProto& add_call(google::protobuf::RepeatedPtrField<NodeProto>& nodes, const std::string& function,
                    const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  NodeProto& node = add_node(nodes, function, inputs, outputs);
  node.set_domain("local");
  return node;
}

// A model whose only node calls local.F.
ModelProto calling_model() {
  ModelProto model = relu_model();
  NodeProto& call = *model.mutable_graph()->mutable_node(0);
  call.set_op_type("F");
  call.set_domain("local");
  call.set_name("call");
  return model;
}

TEST(OnnxFunctions, AreInlined) {
  ModelProto model = calling_model();
  FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  add_node(*function.mutable_node(), "Relu", {"a"}, {"t"}).set_name("inner");
  add_node(*function.mutable_node(), "Relu", {"t"}, {"b"});
  const Graph graph = import(model);
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.nodes().front()->name(), "call/inner");
  EXPECT_EQ(graph.nodes().front()->input(0)->name(), "x");
  EXPECT_EQ(graph.nodes().front()->output().name(), "call/t");
  EXPECT_EQ(graph.nodes().back()->output().name(), "y");
}

TEST(OnnxFunctions, KeepInnerNamesApartFromTheModels) {
  ModelProto model = calling_model();
  FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  add_node(*function.mutable_node(), "Relu", {"a"}, {"t"});
  add_node(*function.mutable_node(), "Relu", {"t"}, {"b"});
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"call/t"});
  add_call(*model.mutable_graph()->mutable_node(), "F", {"x"}, {"z"}).set_name("call");
  const Graph graph = import(model);
  EXPECT_TRUE(graph.find_value("call/t_1"));
  EXPECT_TRUE(graph.find_value("call/t_2"));
}

TEST(OnnxFunctions, TakeAttributesOfTheCallElseTheDefault) {
  ModelProto model = calling_model();
  FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  function.add_attribute("axis");
  AttributeProto& preset = *function.add_attribute_proto();
  preset.set_name("keep");
  preset.set_type(AttributeProto::INT);
  preset.set_i(1);
  NodeProto& node = add_node(*function.mutable_node(), "NoSuchOp", {"a"}, {"b"});
  for (const std::string name : {"axis", "keep"}) {
    AttributeProto& attribute = add_attribute(node, name + "_inside", AttributeProto::INT);
    attribute.set_ref_attr_name(name);
  }
  const auto read = [&] { return import_onnx_bytes(model.SerializeAsString(), "", {.allow_unsupported = true}); };
  EXPECT_FALSE(read().nodes().front()->has("axis_inside")) << "an attribute without a value is absent";
  EXPECT_EQ(read().nodes().front()->require_int("keep_inside"), 1);
  NodeProto& call = *model.mutable_graph()->mutable_node(0);
  add_attribute(call, "axis", AttributeProto::INT).set_i(-1);
  add_attribute(call, "keep", AttributeProto::INT).set_i(0);
  EXPECT_EQ(read().nodes().front()->require_int("axis_inside"), -1);
  EXPECT_EQ(read().nodes().front()->require_int("keep_inside"), 0);
}

TEST(OnnxFunctions, NestAndPassAttributesOn) {
  ModelProto model = calling_model();
  FunctionProto& outer = add_function(model, "F", {"a"}, {"b"});
  NodeProto& call = add_call(*outer.mutable_node(), "G", {"a"}, {"b"});
  call.set_name("g");
  add_attribute(call, "k", AttributeProto::INT).set_ref_attr_name("outer_k");
  FunctionProto& inner = add_function(model, "G", {"p", "missing"}, {"q", "unused"});
  NodeProto& node = add_node(*inner.mutable_node(), "NoSuchOp", {"p", "missing", "p"}, {"q", "unused"});
  add_attribute(node, "k", AttributeProto::INT).set_ref_attr_name("k");
  add_attribute(*model.mutable_graph()->mutable_node(0), "outer_k", AttributeProto::INT).set_i(9);
  const Graph graph = import_onnx_bytes(model.SerializeAsString(), "", {.allow_unsupported = true});
  const Node& read = *graph.nodes().front();
  EXPECT_EQ(read.require_int("k"), 9);
  ASSERT_EQ(read.inputs().size(), 3U);
  EXPECT_EQ(read.inputs()[1], nullptr) << "an input that the call does not give is absent";
  EXPECT_EQ(read.outputs()[1]->name(), "call/g/unused");
}

TEST(OnnxFunctions, MayHandAnInputStraightOut) {
  ModelProto model = calling_model();
  add_function(model, "F", {"a"}, {"a"});
  const Graph graph = import(model);
  EXPECT_EQ(graph.nodes().front()->op(), "Identity");
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
}

TEST(OnnxFunctions, RenameInsideBodies) {
  ModelProto model = calling_model();
  FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  NodeProto& branch = add_node(*function.mutable_node(), "If", {"a"}, {"b"});
  for (const std::string key : {"then_branch", "else_branch"}) {
    GraphProto& body = *add_attribute(branch, key, AttributeProto::GRAPH).mutable_g();
    add_node(body, "Relu", {"a"}, {"x"});  // "x" is also what the call hands in
    add_node(body, "Add", {"x", "a"}, {"r"});
    body.add_output()->set_name("r");
  }
  const Graph graph = import_onnx_bytes(model.SerializeAsString(), "", {.allow_unsupported = true});
  const Node& node = *graph.nodes().front();
  EXPECT_EQ(node.captures, 1);
  EXPECT_EQ(node.input(1)->name(), "x");
  const Graph& body = node.require_graph("then_branch");
  const Node& add = *body.nodes().back();
  EXPECT_EQ(add.input(0)->producer(), body.nodes().front().get());
  EXPECT_EQ(add.input(1), body.inputs()[0]);
}

TEST(OnnxFunctions, ThatCallThemselvesAreRefused) {
  ModelProto model = calling_model();
  FunctionProto& f = add_function(model, "F", {"a"}, {"b"});
  add_call(*f.mutable_node(), "G", {"a"}, {"b"});
  FunctionProto& g = add_function(model, "G", {"a"}, {"b"});
  add_call(*g.mutable_node(), "F", {"a"}, {"b"});
  EXPECT_NE(import_error(model).find("function 'local.F' calls itself"), std::string::npos) << import_error(model);
}

TEST(OnnxFunctions, ThatGrowWithoutBoundAreRefused) {
  ModelProto model = calling_model();
  const int depth = 40;  // each calls the next twice: 2^40 nodes
  for (int i = 0; i < depth; ++i) {
    FunctionProto& function = add_function(model, i == 0 ? "F" : "F" + std::to_string(i), {"a"}, {"b"});
    const std::string next = "F" + std::to_string(i + 1);
    if (i + 1 == depth) {
      add_node(*function.mutable_node(), "Relu", {"a"}, {"b"});
    } else {
      add_call(*function.mutable_node(), next, {"a"}, {"t"});
      add_call(*function.mutable_node(), next, {"t"}, {"b"});
    }
  }
  EXPECT_NE(import_error(model).find("functions expand to"), std::string::npos) << import_error(model);
}

TEST(OnnxFunctions, ThatAreWrongAreRefused) {
  ModelProto model = calling_model();
  FunctionProto& function = add_function(model, "F", {"a"}, {"b"});
  NodeProto& node = add_node(*function.mutable_node(), "Relu", {"x"}, {"b"});
  EXPECT_NE(import_error(model).find("reads 'x', which nothing in the function makes"), std::string::npos);
  node.set_input(0, "a");
  model.mutable_graph()->mutable_node(0)->add_input("x");
  EXPECT_NE(import_error(model).find("the call has 2 inputs"), std::string::npos) << import_error(model);
  model.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  function.mutable_opset_import(0)->set_version(13);
  EXPECT_NE(import_error(model).find("for version 13 of domain '', the model for 21"), std::string::npos);
  function.mutable_opset_import(0)->set_version(21);
  add_function(model, "F", {"a"}, {"b"});
  EXPECT_NE(import_error(model).find("defined twice"), std::string::npos);
}

}  // namespace
}  // namespace quench

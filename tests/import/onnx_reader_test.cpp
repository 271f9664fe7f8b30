// The reader as a whole: names, order, optional slots, constants, metadata, declared types, real models.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "import/onnx_files.h"
#include "quench/op.h"

namespace quench {
namespace {

TEST(OnnxReader, ReadsASmallModel) {
  const Graph graph = import(relu_model());
  ASSERT_EQ(graph.nodes().size(), 1U);
  const Node& node = *graph.nodes().front();
  EXPECT_EQ(node.op(), "Relu");
  EXPECT_EQ(node.name(), "y") << "an unnamed node is named after its first output";
  EXPECT_EQ(graph.inputs()[0]->type().text(), "float[2, 3]");
  EXPECT_EQ(graph.outputs()[0]->type().text(), "float[2, 3]");
}

TEST(OnnxReader, KeepsMetadataAndSource) {
  ModelProto model = relu_model(17);
  model.set_doc_string("a model");
  model.set_producer_name("maker");
  model.set_producer_version("2");
  auto* entry = model.add_metadata_props();
  entry->set_key("author");
  entry->set_value("me");
  NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.set_name("act");
  node.set_domain("ai.onnx");
  auto* note = node.add_metadata_props();
  note->set_key("k");
  note->set_value("v");
  auto* frozen = node.add_metadata_props();
  frozen->set_key("quench.frozen");
  frozen->set_value("1");
  const Graph graph = import(model);
  EXPECT_EQ(graph.name, "g");
  EXPECT_EQ(graph.doc, "a model");
  EXPECT_EQ(graph.metadata.at("author"), "me");
  EXPECT_EQ(graph.source.format, "onnx");
  EXPECT_EQ(graph.source.producer, "maker 2");
  EXPECT_EQ(graph.source.ir_version, 10);
  EXPECT_EQ(graph.source.opsets.at(""), 17);
  const Node& read = *graph.find_node("act");
  EXPECT_EQ(read.op(), "Relu");
  EXPECT_EQ(read.metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_TRUE(read.frozen);
}

TEST(OnnxReader, SortsNodesThatStandOutOfOrder) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_input(0, "h");
  add_node(graph, "Relu", {"x"}, {"h"});
  const Graph read = import(model);
  EXPECT_EQ(read.nodes().front()->name(), "h");
  EXPECT_EQ(read.nodes().back()->name(), "y");
}

TEST(OnnxReader, TakesDynamicDimsAsSymbols) {
  ModelProto model = relu_model();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  shape->add_dim()->set_dim_param("N");
  shape->add_dim();
  shape->add_dim()->set_dim_value(-1);
  shape->add_dim()->set_dim_param("N/2 + 2*M");
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const Graph graph = import(model);
  EXPECT_EQ(graph.inputs()[0]->type().text(), "float[N, ?, ?, N/2 + 2xM]");
  EXPECT_EQ(graph.outputs()[0]->type().text(), "float[N, ?, ?, N/2 + 2xM]");
}

TEST(OnnxReader, TakesAnInitializerThatIsAlsoAnInputAsAConstant) {
  ModelProto model = relu_model();
  fill_floats(*model.mutable_graph()->add_initializer(), "x", {2, 3}, {1, 2, 3, 4, 5, 6});
  const Graph graph = import(model);
  EXPECT_TRUE(graph.inputs().empty());
  EXPECT_TRUE(graph.value("x").is_constant());
}

TEST(OnnxReader, TurnsConstantNodesIntoConstants) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  add_attribute(add_node(graph, "Constant", {}, {"i"}), "value_int", AttributeProto::INT).set_i(-7);
  add_attribute(add_node(graph, "Constant", {}, {"f"}), "value_float", AttributeProto::FLOAT).set_f(0.5F);
  auto& ints = add_attribute(add_node(graph, "Constant", {}, {"is"}), "value_ints", AttributeProto::INTS);
  ints.add_ints(3);
  ints.add_ints(4);
  add_attribute(add_node(graph, "Constant", {}, {"fs"}), "value_floats", AttributeProto::FLOATS).add_floats(1.5F);
  auto& tensor = add_attribute(add_node(graph, "Constant", {}, {"t"}), "value", AttributeProto::TENSOR);
  fill_floats(*tensor.mutable_t(), "", {1, 2}, {8, 9});
  const Graph read = import(model);
  EXPECT_EQ(read.nodes().size(), 1U);
  EXPECT_TRUE(bit_equal(read.value("i").tensor(), at::scalar_tensor(-7, at::kLong)));
  EXPECT_TRUE(bit_equal(read.value("f").tensor(), at::scalar_tensor(0.5, at::kFloat)));
  EXPECT_TRUE(bit_equal(read.value("is").tensor(), integer_tensor({3, 4})));
  EXPECT_TRUE(bit_equal(read.value("fs").tensor(), at::tensor({1.5F})));
  EXPECT_TRUE(bit_equal(read.value("t").tensor(), at::tensor({8.0F, 9.0F}).reshape({1, 2})));
}

TEST(OnnxReader, ListsAllUnsupportedOperatorsInOneError) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  add_node(graph, "NoSuchOp", {"x"}, {"a"}).set_name("first");
  add_node(graph, "Other", {"x"}, {"b"}).set_domain("com.example");
  const std::string message = import_error(model);
  EXPECT_NE(message.find("2 operators are not supported"), std::string::npos) << message;
  EXPECT_NE(message.find("NoSuchOp of domain 'ai.onnx' (node 'first')"), std::string::npos) << message;
  EXPECT_NE(message.find("Other of domain 'com.example' (node 'b')"), std::string::npos) << message;
  const Graph read = import_onnx_bytes(model.SerializeAsString(), "", {.allow_unsupported = true});
  EXPECT_EQ(read.nodes().size(), 3U);
  EXPECT_EQ(read.find_node("b")->op(), "com.example.Other");
}

TEST(OnnxReader, UsesDeclaredTypesWhereInferenceKnowsLess) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(import(model).outputs()[0]->type().text(), "float[2, 3]");
}

TEST(OnnxReader, RefusesADeclaredTypeThatCannotBeTrue) {
  ModelProto model = relu_model();
  model.mutable_graph()->mutable_output(0)->clear_type();
  set_type(*model.mutable_graph()->mutable_output(0), "y", TensorProto::FLOAT, {2, 4});
  EXPECT_NE(import_error(model).find("the model says that 'y' is float[2, 4], but it is float[2, 3]"),
            std::string::npos)
      << import_error(model);
  model = relu_model();
  set_type(*model.mutable_graph()->add_value_info(), "y", TensorProto::INT64, {2, 3});
  EXPECT_NE(import_error(model).find("'y'"), std::string::npos) << import_error(model);
}

TEST(OnnxReader, NamesTheFileInErrors) {
  const TempFolder folder;
  const std::string path = folder.write("bad.onnx", "nonsense");
  const std::string message = error_of([&] { import_model(path); });
  EXPECT_NE(message.find("while importing " + path), std::string::npos) << message;
  EXPECT_NE(error_of([&] { import_model(folder.path("none.onnx")); }).find("cannot be opened"), std::string::npos);
  EXPECT_NE(error_of([&] { import_model(folder.write("x.pt", "PK")); }).find("not an ONNX model"), std::string::npos);
}

TEST(OnnxReader, ReadsTheRealModels) {
  const std::string folder = data_folder();
  if (folder.empty()) GTEST_SKIP() << "the real models are not here (set QUENCH_DATA)";
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/models")) {
    if (entry.path().extension() != ".onnx") continue;
    const Graph graph = import_onnx(entry.path().string(), {.allow_unsupported = true});
    EXPECT_GT(graph.nodes().size(), 5U) << entry.path();
    EXPECT_FALSE(graph.outputs().empty()) << entry.path();
    EXPECT_GT(graph.constants().size(), 5U) << entry.path();
  }
}

}  // namespace
}  // namespace quench

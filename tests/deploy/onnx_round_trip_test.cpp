// import -> export -> import is the identity on the graph, and the `onnx` package's checker accepts the
// files: small graphs of every feature, and the real models.
#include <ATen/ATen.h>

#include "deploy/onnx_checker.h"
#include "graph/tensor_types.h"
#include "import/onnx_files.h"
#include "quench/export.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr ImportOptions kAny{.allow_unsupported = true};

// The graph that a model gives, and gives again after export. Text carries names, types, attributes,
// constants and bodies.
void expect_identity(const ModelProto& model, const std::string& what) {
  const Graph first = import_onnx_bytes(model.SerializeAsString(), "", kAny);
  const Graph second = import_onnx_bytes(export_onnx_bytes(first), "", kAny);
  EXPECT_EQ(to_text(first), to_text(second)) << what;
}

GraphProto& add_body(NodeProto& node, const std::string& key) {
  GraphProto& body = *add_attribute(node, key, AttributeProto::GRAPH).mutable_g();
  body.set_name(key);
  return body;
}

void add_output(GraphProto& graph, const std::string& name) {
  set_type(*graph.add_output(), name, TensorProto::FLOAT, {2, 3});
}

// If whose branches capture an outer value, a small and a large constant; the then branch nests a
// second If that captures through both levels.
ModelProto nested_if_model() {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  set_type(*graph.add_input(), "cond", TensorProto::BOOL, {});
  fill_floats(*graph.add_initializer(), "small", {3}, {1, 2, 3});
  fill_floats(*graph.add_initializer(), "large", {500, 3}, std::vector<float>(1500, 0.5F));
  add_output(graph, "r");
  NodeProto& choice = add_node(graph, "If", {"cond"}, {"r"});
  GraphProto& then_body = add_body(choice, "then_branch");
  NodeProto& inner = add_node(then_body, "If", {"cond"}, {"inner"});
  for (const std::string key : {"then_branch", "else_branch"}) {
    GraphProto& body = add_body(inner, key);
    add_node(body, key == "then_branch" ? "Add" : "Sub", {"y", "small"}, {"deep"});
    add_output(body, "deep");
  }
  add_output(then_body, "inner");
  GraphProto& else_body = add_body(choice, "else_branch");
  add_attribute(add_node(else_body, "ReduceMax", {"large"}, {"top"}), "keepdims", AttributeProto::INT).set_i(0);
  add_node(else_body, "Mul", {"y", "top"}, {"other"});
  add_output(else_body, "other");
  return model;
}

ModelProto loop_model() {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  set_type(*graph.add_input(), "count", TensorProto::INT64, {});
  add_output(graph, "final");
  NodeProto& loop = add_node(graph, "Loop", {"count", "", "y"}, {"final"});
  GraphProto& body = add_body(loop, "body");
  set_type(*body.add_input(), "i", TensorProto::INT64, {});
  set_type(*body.add_input(), "go", TensorProto::BOOL, {});
  set_type(*body.add_input(), "state", TensorProto::FLOAT, {2, 3});
  add_node(body, "Identity", {"go"}, {"go_on"});
  add_node(body, "Add", {"state", "x"}, {"next"});  // captures x
  set_type(*body.add_output(), "go_on", TensorProto::BOOL, {});
  add_output(body, "next");
  return model;
}

void fill_tensor(TensorProto& tensor, const std::string& name, int dtype, std::int64_t count) {
  tensor.set_name(name);
  tensor.set_data_type(dtype);
  tensor.add_dims(count);
  const int bits = bits_of(static_cast<DType>(dtype));
  std::string raw;
  for (std::int64_t i = 0; i < (count * bits + 7) / 8; ++i)
    raw += static_cast<char>(dtype == TensorProto::BOOL ? i % 2 : 3 + i);
  if (bits < 8) raw.back() = 0;  // the unused bits of the last byte
  tensor.set_raw_data(raw);
}

ModelProto every_dtype_model() {
  ModelProto model = relu_model();
  for (int number = 1; number < kDTypeCount; ++number)
    if (number != TensorProto::STRING)
      fill_tensor(*model.mutable_graph()->add_initializer(), std::string("c_") + name_of(static_cast<DType>(number)),
                  number, 5);
  return model;
}

// Every kind of attribute, optional inputs and outputs, another domain, metadata.
ModelProto attributes_model() {
  ModelProto model = relu_model();
  model.set_doc_string("doc");
  auto* import = model.add_opset_import();
  import->set_domain("com.example");
  import->set_version(3);
  auto* entry = model.add_metadata_props();
  entry->set_key("a");
  entry->set_value("b");
  NodeProto& node = add_node(*model.mutable_graph(), "Custom", {"x", "", "y"}, {"o1", "", "o3"});
  node.set_domain("com.example");
  node.set_name("custom");
  auto* note = node.add_metadata_props();
  note->set_key("quench.frozen");
  note->set_value("1");
  auto* other = node.add_metadata_props();
  other->set_key("k");
  other->set_value("v");
  add_attribute(node, "int", AttributeProto::INT).set_i(-3);
  add_attribute(node, "float", AttributeProto::FLOAT).set_f(0.1F);
  add_attribute(node, "string", AttributeProto::STRING).set_s("text \"quoted\"\n");
  add_attribute(node, "ints", AttributeProto::INTS).add_ints(4);
  add_attribute(node, "no_ints", AttributeProto::INTS);
  add_attribute(node, "floats", AttributeProto::FLOATS).add_floats(1e-30F);
  add_attribute(node, "strings", AttributeProto::STRINGS).add_strings("s");
  fill_floats(*add_attribute(node, "tensor", AttributeProto::TENSOR).mutable_t(), "", {1}, {2});
  fill_tensor(*add_attribute(node, "tensors", AttributeProto::TENSORS).add_tensors(), "", TensorProto::INT4, 3);
  add_attribute(node, "type", AttributeProto::TYPE_PROTO)
      .mutable_tp()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(TensorProto::FLOAT);
  return model;
}

ModelProto dynamic_model() {
  ModelProto model = relu_model();
  for (auto* info : {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)}) {
    auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(0)->set_dim_param("N");
    shape->mutable_dim(1)->clear_dim_value();
  }
  return model;
}

// A constant that is an output, and an input that is one.
ModelProto direct_outputs_model() {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  fill_floats(*graph.add_initializer(), "c", {2, 3}, {1, 2, 3, 4, 5, 6});
  add_output(graph, "c");
  return model;
}

std::vector<std::pair<std::string, ModelProto>> small_models() {
  return {{"relu", relu_model()},
          {"nested_if", nested_if_model()},
          {"loop", loop_model()},
          {"every_dtype", every_dtype_model()},
          {"dynamic", dynamic_model()},
          {"direct_outputs", direct_outputs_model()},
          {"attributes", attributes_model()}};
}

TEST(OnnxRoundTrip, IsTheIdentityOnSmallGraphs) {
  for (const auto& [name, model] : small_models()) expect_identity(model, name);
}

TEST(OnnxRoundTrip, KeepsTheBitsOfEveryType) {
  const Graph first = import(every_dtype_model());
  const Graph second = import_onnx_bytes(export_onnx_bytes(first));
  ASSERT_EQ(first.constants().size(), 25U);
  for (const Value* value : first.constants()) {
    EXPECT_EQ(second.value(value->name()).dtype(), value->dtype());
    EXPECT_TRUE(bit_equal(second.value(value->name()).tensor(), value->tensor())) << value->name();
  }
}

TEST(OnnxRoundTrip, TurnsCapturesIntoOuterNames) {
  ModelProto written;
  const Graph graph = import_onnx_bytes(nested_if_model().SerializeAsString(), "", kAny);
  ASSERT_TRUE(written.ParseFromString(export_onnx_bytes(graph)));
  for (const NodeProto& node : written.graph().node()) {
    if (node.op_type() != "If") continue;
    EXPECT_EQ(node.input_size(), 1);
    for (const AttributeProto& branch : node.attribute()) {
      EXPECT_EQ(branch.g().input_size(), 0) << branch.name();
      EXPECT_EQ(branch.g().initializer_size(), 0) << branch.name();
    }
  }
}

TEST(OnnxRoundTrip, SatisfiesTheChecker) {
  std::string why;
  const std::string python = test_python(why);
  if (python.empty()) GTEST_SKIP() << why;
  const TempFolder folder;
  for (const auto& [name, model] : small_models())
    export_onnx(import_onnx_bytes(model.SerializeAsString(), "", kAny), folder.path(name + ".onnx"));
  EXPECT_EQ(checker_complaints(python, folder.path()), "");
}

std::vector<std::string> real_models() {
  std::vector<std::string> paths;
  const std::string folder = data_folder();
  if (folder.empty()) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/models"))
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(OnnxRoundTrip, IsTheIdentityOnRealModels) {
  if (real_models().empty()) GTEST_SKIP() << "the real models are not here (set QUENCH_DATA)";
  for (const std::string& path : real_models()) {
    const Graph first = import_onnx(path);
    const Graph second = import_onnx_bytes(export_onnx_bytes(first));
    EXPECT_TRUE(to_text(first) == to_text(second)) << path;
  }
}

TEST(OnnxRoundTrip, OfRealModelsSatisfiesTheChecker) {
  if (real_models().empty()) GTEST_SKIP() << "the real models are not here (set QUENCH_DATA)";
  std::string why;
  const std::string python = test_python(why);
  if (python.empty()) GTEST_SKIP() << why;
  const TempFolder folder;
  for (const std::string& path : real_models())
    export_onnx(import_onnx(path), folder.path(std::filesystem::path(path).filename().string()));
  EXPECT_EQ(checker_complaints(python, folder.path()), "");
}

}  // namespace
}  // namespace quench

// Hostile and broken files: each gives one clear error; none crashes, hangs or takes much memory.
#include <ATen/ATen.h>
#include <sys/resource.h>

#include <random>

#include "import/onnx_files.h"
#include "quench/op.h"

namespace quench {
namespace {

#define EXPECT_REFUSED(model, text)                                             \
  do {                                                                          \
    const std::string message = import_error(model);                            \
    EXPECT_NE(message.find(text), std::string::npos) << "it says: " << message; \
  } while (false)

std::string bytes_error(const std::string& bytes) {
  return error_of([&] { import_onnx_bytes(bytes); });
}

// A model that has a bit of everything, so that cutting it anywhere meets every reader.
ModelProto rich_model() {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  fill_floats(*graph.add_initializer(), "w", {3}, {1, 2, 3});
  NodeProto& choice = add_node(graph, "If", {"x"}, {"z"});
  for (const std::string key : {"then_branch", "else_branch"}) {
    GraphProto& body = *add_attribute(choice, key, AttributeProto::GRAPH).mutable_g();
    add_node(body, "Add", {"y", "w"}, {"r"});
    body.add_output()->set_name("r");
  }
  FunctionProto& function = *model.add_functions();
  function.set_name("F");
  function.set_domain("local");
  function.add_input("a");
  function.add_output("b");
  add_node(*function.mutable_node(), "Relu", {"a"}, {"b"});
  add_node(graph, "F", {"x"}, {"f"}).set_domain("local");
  return model;
}

long peak_memory_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(HostileOnnx, EmptyBytesAndEmptyFilesAreRefused) {
  EXPECT_EQ(bytes_error(""), "not an ONNX model: it holds no graph");
  const TempFolder folder;
  const std::string message = error_of([&] { import_onnx(folder.write("e.onnx", "")); });
  EXPECT_NE(message.find("the file is empty"), std::string::npos) << message;
  EXPECT_NE(error_of([&] { import_onnx(folder.path()); }).find("folder"), std::string::npos);
}

TEST(HostileOnnx, CutAtAnyByteGivesAnErrorOrAGraph) {
  const std::string bytes = rich_model().SerializeAsString();
  int refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    try {
      import_onnx_bytes(bytes.substr(0, length), "", {.allow_unsupported = true});
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "");
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) * 9 / 10) << "few prefixes are models by themselves";
}

TEST(HostileOnnx, AnyChangedByteGivesAnErrorOrAGraph) {
  const std::string bytes = rich_model().SerializeAsString();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (int i = 0; i < 1 + round % 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    error_of([&] { import_onnx_bytes(changed, "", {.allow_unsupported = true}); });
  }
}

TEST(HostileOnnx, RandomBytesAreRefused) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_NE(bytes_error(bytes), "") << round;
  }
  EXPECT_NE(bytes_error(std::string(100'000, '\xff')), "");
}

TEST(HostileOnnx, ACycleIsNamed) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Add", {"q", "x"}, {"p"});
  add_node(graph, "Relu", {"p"}, {"q"}).set_name("turn");
  EXPECT_REFUSED(model, "the graph has a cycle through node 'p' (Add)");
  graph.mutable_node(0)->set_input(0, "y");
  EXPECT_REFUSED(model, "the graph has a cycle through node 'y' (Relu)");
}

TEST(HostileOnnx, WronglyTypedAttributesAreRefused) {
  ModelProto model = relu_model();
  GraphProto& graph = *model.mutable_graph();
  NodeProto& node = add_node(graph, "Concat", {"x", "x"}, {"c"});
  AttributeProto& attribute = add_attribute(node, "axis", AttributeProto::INT);
  attribute.add_floats(1);
  EXPECT_REFUSED(model, "attribute 'axis' says that its type is 2 but holds type 6");
  attribute.clear_floats();
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s("one");
  EXPECT_REFUSED(model, "attribute 'axis' is a string, expected an integer");
  attribute.Clear();
  attribute.set_name("axis");
  EXPECT_REFUSED(model, "attribute 'axis' does not say its type");
  attribute.set_type(AttributeProto::INT);
  attribute.set_ref_attr_name("outer");
  EXPECT_REFUSED(model, "which only a function can");
  attribute.clear_ref_attr_name();
  attribute.set_type(AttributeProto::GRAPH);
  EXPECT_REFUSED(model, "says that it is a graph but holds none");
  attribute.set_type(AttributeProto::INT);
  add_attribute(node, "axis", AttributeProto::INT).set_i(1);
  EXPECT_REFUSED(model, "is given twice");
}

TEST(HostileOnnx, MissingNamesAreNamedWithTheNearest) {
  ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "xx");
  EXPECT_REFUSED(model, "node 'y' (Relu) reads 'xx', which nothing in the graph makes (nearest: 'x')");
  model = relu_model();
  model.mutable_graph()->mutable_output(0)->set_name("nowhere");
  EXPECT_REFUSED(model, "the graph's list of outputs reads 'nowhere'");
  model = relu_model();
  model.mutable_graph()->mutable_node(0)->clear_op_type();
  EXPECT_REFUSED(model, "names no operator");
  model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_output(0, "");
  EXPECT_REFUSED(model, "node '' (Relu) has no outputs");
  model = relu_model();
  model.mutable_graph()->mutable_input(0)->set_name("");
  EXPECT_REFUSED(model, "a value needs a name");
  model = rich_model();
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(0, "gone");
  EXPECT_REFUSED(model, "a body of node 'z' (If) reads 'gone'");
}

TEST(HostileOnnx, DuplicateNamesAreRefused) {
  ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  EXPECT_REFUSED(model, "the name 'y' is used twice");
  model = relu_model();
  set_type(*model.mutable_graph()->add_input(), "x", TensorProto::FLOAT, {1});
  EXPECT_REFUSED(model, "the name 'x' is used twice");
  model = relu_model();
  for (int i = 0; i < 2; ++i) fill_floats(*model.mutable_graph()->add_initializer(), "w", {1}, {1});
  EXPECT_REFUSED(model, "the name 'w' is used twice");
}

TEST(HostileOnnx, LyingTensorsAreRefused) {
  ModelProto model = relu_model();
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  fill_floats(tensor, "w", {100}, {1, 2, 3});
  EXPECT_REFUSED(model, "float[100] needs 100 numbers, found 3\n  in tensor 'w'");
  tensor.set_dims(0, -1);
  EXPECT_REFUSED(model, "negative");
  tensor.set_data_type(1000);
  EXPECT_REFUSED(model, "element type 1000 is not one of ONNX's");
  tensor.set_data_type(TensorProto::STRING);
  EXPECT_REFUSED(model, "string tensors are not supported");
  model = relu_model();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77);
  EXPECT_REFUSED(model, "element type 77 is not one of ONNX's");
  model = relu_model();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_value(-5);
  EXPECT_REFUSED(model, "a dim of -5; it must lie between 0 and 1099511627776 (-1: not known)\n  at input 'x'");
}

TEST(HostileOnnx, HugeDimsTakeNoMemory) {
  const long before = peak_memory_kb();
  ModelProto model = relu_model();
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  fill_floats(tensor, "w", {std::int64_t{1} << 40}, {1});
  EXPECT_REFUSED(model, "needs 1099511627776 numbers, found 1");
  tensor.clear_float_data();
  tensor.add_dims(std::int64_t{1} << 40);
  EXPECT_REFUSED(model, "more than a tensor can hold");
  tensor.set_data_type(TensorProto::INT4);
  tensor.mutable_dims()->RemoveLast();
  EXPECT_REFUSED(model, "needs 549755813888 bytes of raw data, found 0");
  model = relu_model();
  auto& sparse = *model.mutable_graph()->add_sparse_initializer();
  fill_floats(*sparse.mutable_values(), "s", {0}, {});
  sparse.mutable_indices()->set_data_type(TensorProto::INT64);
  sparse.mutable_indices()->add_dims(0);
  sparse.add_dims(std::int64_t{1} << 35);
  EXPECT_REFUSED(model, "cannot be made dense");
  // A graph that would make a huge tensor can be read: nothing is computed.
  model = relu_model();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (auto& dim : *shape->mutable_dim()) dim.set_dim_value(std::int64_t{1} << 40);
  model.mutable_graph()->mutable_output(0)->clear_type();
  EXPECT_EQ(import_error(model), "");
  shape->mutable_dim(0)->set_dim_value((std::int64_t{1} << 40) + 1);
  EXPECT_REFUSED(model, "a dim of 1099511627777; it must lie between 0 and 1099511627776");
  EXPECT_LT(peak_memory_kb() - before, 50'000);
}

// A model whose initializer "w" (float[2]) lies in another file.
ModelProto external_model(const std::string& location, const std::string& offset = "0",
                          const std::string& length = "8") {
  ModelProto model = relu_model();
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  fill_floats(tensor, "w", {2}, {});
  tensor.set_data_location(quench_onnx::TensorProto_DataLocation_EXTERNAL);
  const std::vector<std::pair<std::string, std::string>> entries = {
      {"location", location}, {"offset", offset}, {"length", length}};
  for (const auto& [key, value] : entries) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model;
}

TEST(HostileOnnx, ExternalDataMustBeThere) {
  const TempFolder folder;
  folder.write("w.bin", "12345678");
  const auto refused = [&](const ModelProto& model, const std::string& text) {
    const std::string message = import_error(model, folder.path());
    EXPECT_NE(message.find(text), std::string::npos) << "it says: " << message;
  };
  EXPECT_EQ(import_error(external_model("w.bin"), folder.path()), "");
  refused(external_model("none.bin"), "external data 'none.bin' cannot be read: No such file");
  refused(external_model(""), "external data names no file");
  refused(external_model("."), "");
  refused(external_model("w.bin", "4"), "has 8 bytes; the model expects 8 from offset 4");
  refused(external_model("w.bin", "9223372036854775807"), "has 8 bytes; the model expects 8 from offset");
  refused(external_model("w.bin", "-4"), "offset '-4' is not a number of bytes");
  refused(external_model("w.bin", "99999999999999999999999"), "is not a number of bytes");
  refused(external_model("w.bin", "0", "9"), "float[2] needs 8 bytes, but its external data has length 9");
  refused(external_model("w.bin", "0", "x"), "length 'x' is not a number of bytes");
  EXPECT_REFUSED(external_model("w.bin"), "the model was not read from a folder");
}

TEST(HostileOnnx, ExternalDataMustLieInTheModelsFolder) {
  const TempFolder folder;
  folder.write("secret.bin", "12345678");
  std::filesystem::create_directories(folder.path("model/sub"));
  std::filesystem::create_symlink(folder.path("secret.bin"), folder.path("model/link.bin"));
  std::filesystem::create_directory_symlink(folder.path(), folder.path("model/out"));
  std::filesystem::create_directory_symlink(folder.path("model/sub"), folder.path("model/in"));
  std::ofstream(folder.path("model/sub/w.bin")) << "12345678";
  const std::string model_folder = folder.path("model");
  const auto refused = [&](const std::string& location, const std::string& text) {
    const std::string message = import_error(external_model(location), model_folder);
    EXPECT_NE(message.find(text), std::string::npos) << location << ": " << message;
  };
  refused(folder.path("secret.bin"), "is not inside the model's folder");
  refused("../secret.bin", "is not inside the model's folder");
  refused("sub/../../secret.bin", "is not inside the model's folder");
  refused("link.bin", "is a link that leaves the model's folder");
  refused("out/secret.bin", "is a link that leaves the model's folder");
  refused("sub", "is not a plain file");
  EXPECT_EQ(import_error(external_model("in/w.bin"), model_folder), "") << "a link that stays inside is fine";
}

// If inside If inside If ..., in the then branch each time.
ModelProto nested_model(int depth) {
  ModelProto model = relu_model();
  set_type(*model.mutable_graph()->add_input(), "cond", TensorProto::BOOL, {});
  GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < depth; ++i) {
    const std::string name = "v" + std::to_string(i);
    NodeProto& node = add_node(*graph, "If", {"cond"}, {name});
    if (i > 0) graph->add_output()->set_name(name);
    GraphProto& other = *add_attribute(node, "else_branch", AttributeProto::GRAPH).mutable_g();
    add_node(other, "Relu", {"x"}, {"e"});
    other.add_output()->set_name("e");
    graph = add_attribute(node, "then_branch", AttributeProto::GRAPH).mutable_g();
  }
  add_node(*graph, "Relu", {"x"}, {"deepest"});
  graph->add_output()->set_name("deepest");
  return model;
}

TEST(HostileOnnx, DeepNestingIsRefused) {
  EXPECT_EQ(error_of([] { import_onnx_bytes(nested_model(10).SerializeAsString(), "", {.allow_unsupported = true}); }),
            "");
  EXPECT_REFUSED(nested_model(2000), "nested too deeply");
}

TEST(HostileOnnx, UnsupportedTypesAreNamed) {
  ModelProto model = relu_model();
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  type->mutable_map_type()->set_key_type(TensorProto::INT64);
  EXPECT_REFUSED(model, "map types are not supported\n  at input 'x'");
  type->mutable_sparse_tensor_type()->set_elem_type(1);
  EXPECT_REFUSED(model, "sparse tensors as values are not supported");
  for (int i = 0; i < 2000; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_REFUSED(model, "nested too deeply");
}

}  // namespace
}  // namespace quench

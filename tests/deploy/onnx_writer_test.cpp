// The writer: opset and IR version, domains, names in nested scopes, external data, safe replacement.
#include <ATen/ATen.h>

#include "deploy/onnx_checker.h"
#include "graph/tensor_types.h"
#include "import/onnx_files.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/op.h"

namespace quench {
namespace {

ModelProto written(const Graph& graph, const ExportOptions& options = {}) {
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(export_onnx_bytes(graph, options)));
  return model;
}

// x [2, 3] + w [3] -> y, with w of any size beside it
Graph add_graph(std::int64_t spare = 1) {
  Graph graph;
  graph.name = "g";
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3}));
  Value& w = graph.add_constant("w", at::tensor({1.0F, 2.0F, 3.0F}));
  graph.add_constant("spare", at::arange(spare, at::kFloat));
  graph.add_constant("codes", at::tensor({-8, 7, 3}, at::kChar), DType::kInt4);
  graph.add_output(graph.add("Add", "y", {&x, &w}).output());
  infer_shapes(graph);
  return graph;
}

TEST(OnnxWriter, WritesTheOpsetAndTheIrVersionThatFitsIt) {
  const Graph graph = add_graph();
  for (const auto& [opset, ir_version] : std::map<int, int>{{13, 7}, {17, 8}, {20, 9}, {21, 10}, {22, 10}, {24, 12}}) {
    const ModelProto model = written(graph, {.opset = opset});
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).version(), opset);
    EXPECT_EQ(model.ir_version(), ir_version) << opset;
  }
  EXPECT_EQ(written(graph).producer_name(), "quench");
  EXPECT_NE(error_of([&] { export_onnx_bytes(graph, {.opset = 6}); }).find("opset 6 is not written; 7 to 28 are"),
            std::string::npos);
}

TEST(OnnxWriter, ImportsEveryDomainThatIsUsed) {
  Graph graph = add_graph();
  graph.add("com.example.net.Op", "custom", {&graph.value("x")});
  graph.source.opsets["com.example.net"] = 4;
  graph.add("quench.FakeQuant", "fq", {&graph.value("x")}).attrs["scheme"] = std::string("int8 symmetric tensor");
  const ModelProto model = written(graph);
  std::map<std::string, std::int64_t> opsets;
  for (const auto& import : model.opset_import()) opsets[import.domain()] = import.version();
  EXPECT_EQ(opsets, (std::map<std::string, std::int64_t>{{"", 21}, {"com.example.net", 4}, {"quench", 1}}));
  EXPECT_EQ(model.graph().node(1).domain(), "com.example.net");
  EXPECT_EQ(model.graph().node(1).op_type(), "Op");
}

TEST(OnnxWriter, DropsAttributesOfItsOwnAndKeepsFrozen) {
  Graph graph = add_graph();
  Node& node = *graph.find_node("y");
  node.attrs["quench.layout"] = std::int64_t{1};
  node.frozen = true;
  const ModelProto model = written(graph);
  ASSERT_EQ(model.graph().node(0).attribute_size(), 0);
  EXPECT_EQ(model.graph().node(0).metadata_props(0).key(), "quench.frozen");
  EXPECT_TRUE(import_onnx_bytes(model.SerializeAsString()).find_node("y")->frozen);
}

TEST(OnnxWriter, KeepsNamesApartAcrossScopes) {
  Graph graph = add_graph();
  auto body = std::make_shared<Graph>();
  Value& captured = body->add_input("w");  // named as an outer value that it is not
  Value& constant = body->add_constant("x", at::tensor({5.0F}));
  body->add_output(body->add("Add", "y", {&captured, &constant}).output());
  Value& cond = graph.add_input("cond", TypeInfo::tensor(DType::kBool, Dims{}));
  Node& choice = graph.add("If", "r", {&cond, &graph.value("x")});
  choice.captures = 1;
  choice.attrs["then_branch"] = body;
  choice.attrs["else_branch"] = std::make_shared<Graph>(*body);
  const ModelProto model = written(graph);
  const GraphProto& branch = model.graph().node(1).attribute(1).g();
  EXPECT_EQ(branch.initializer(0).name(), "x_1");
  EXPECT_EQ(branch.node(0).input(0), "x") << "the captured value, by its outer name";
  EXPECT_EQ(branch.node(0).input(1), "x_1");
  EXPECT_EQ(branch.node(0).output(0), "y_1");
  EXPECT_EQ(branch.output(0).name(), "y_1");
}

TEST(OnnxWriter, PutsLargeTensorsBesideTheFile) {
  const TempFolder folder;
  const Graph graph = add_graph(3000);
  const std::string path = folder.path("m.onnx");
  export_onnx(graph, path, {.external_threshold = 1000});
  EXPECT_LT(std::filesystem::file_size(path), 2000U);
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 12000U);
  const Graph read = import_onnx(path);
  EXPECT_TRUE(bit_equal(read.value("spare").tensor(), graph.value("spare").tensor()));
  EXPECT_TRUE(bit_equal(read.value("codes").tensor(), graph.value("codes").tensor()));
  EXPECT_EQ(to_text(read), to_text(import_onnx_bytes(export_onnx_bytes(graph))));
  std::string why;
  const std::string python = test_python(why);
  if (python.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(checker_complaints(python, folder.path()), "");
}

TEST(OnnxWriter, LeavesNothingBehindWhenItFails) {
  const TempFolder folder;
  const std::string path = folder.write("m.onnx", "precious");
  Graph graph = add_graph(3000);
  graph.add("If", "broken", {&graph.value("x")}).attrs["then_branch"] = GraphPtr();
  EXPECT_NE(error_of([&] { export_onnx(graph, path, {.external_threshold = 1000}); }), "");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_NE(error_of([&] { export_onnx(add_graph(), folder.path("no/such/m.onnx")); }).find("while writing"),
            std::string::npos);
}

TEST(OnnxWriter, GivesAFileThatComputesTheSame) {
  const Graph graph = add_graph();
  const Graph read = import_onnx_bytes(export_onnx_bytes(graph));
  const at::Tensor x = at::randn({2, 3});
  EXPECT_TRUE(bit_equal(Executor(graph).run({x})[0].tensor(), Executor(read).run({x})[0].tensor()));
}

TEST(OnnxWriter, OldOpsetsReadBackAlike) {
  for (const std::int64_t opset : {7, 9, 11, 12}) {
    Graph small = parse_graph(R"(graph "g" {
      input %x : float[2, 3]
      const %axes : int64[1] = {0}
      %u = Unsqueeze "u" (%x, %axes) : float[1, 2, 3]
      %y = Relu "y" (%u) : float[1, 2, 3]
      output %y
    })");
    const Graph again = import_onnx_bytes(export_onnx_bytes(small, {.opset = opset}));
    const RtValue x = at::randn({2, 3});
    EXPECT_TRUE(bit_equal(Executor(again).run({x})[0].tensor(), Executor(small).run({x})[0].tensor())) << opset;
  }
}

TEST(OnnxWriter, RefusesALeafByName) {
  Graph graph = add_graph();
  Node& leaf = graph.add("quench.Leaf", "head", {&graph.value("y")});
  leaf.attrs["quench.kept"] = make_tensor_attr(at::ones({1}));
  graph.set_output(0, leaf.output());
  try {
    export_onnx_bytes(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(
        error.message(),
        "cannot write node 'head' (quench.Leaf): it runs code of this program (quench.kept), which no file can hold");
  }
}

TEST(OnnxWriter, WritesTheSameBytesEveryTime) {
  EXPECT_EQ(export_onnx_bytes(add_graph()), export_onnx_bytes(add_graph()));
}

}  // namespace
}  // namespace quench

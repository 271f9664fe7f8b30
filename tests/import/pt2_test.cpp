// torch.export archives: what torch computed (tests/data/pt2/make.py), names, shapes, and what is refused.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "import/pt2/symbols.h"
#include "import/pt2_files.h"
#include "quench/executor.h"
#include "quench/npz.h"

namespace quench {
namespace {

using Arrays = std::map<std::string, RtValue>;

std::vector<RtValue> arrays_of(const Arrays& arrays, const std::string& prefix) {
  std::vector<RtValue> result;
  for (int i = 0; arrays.contains(concat(prefix, i)); ++i) result.push_back(arrays.at(concat(prefix, i)));
  return result;
}

// Every node rounds a few times, relative to values of the result's size.
void expect_close(const Graph& graph, const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  const at::Tensor a = actual.to(at::kDouble), b = expected.to(at::kDouble);
  const double tolerance = 16.0 * std::numeric_limits<float>::epsilon() *
                           static_cast<double>(graph.nodes().size() + 1) * b.abs().max().item<double>();
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance);
}

const Node& node_of(const Graph& graph, const std::string& name) {
  const Node* node = graph.find_node(name);
  QUENCH_CHECK(node, "no node '", name, "'");
  return *node;
}

class Pt2Archives : public testing::TestWithParam<std::string> {};

TEST_P(Pt2Archives, GiveWhatTorchGave) {
  const Graph graph = import_model(pt2_file(GetParam() + ".pt2"));
  const Arrays arrays = read_npz(pt2_file(GetParam() + ".npz"));
  Executor executor(graph);
  for (const std::string prefix : {"", "other_"}) {
    const std::vector<RtValue> expected = arrays_of(arrays, prefix + "out");
    const std::vector<RtValue> actual = executor.run(arrays_of(arrays, prefix + "in"));
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE(concat(prefix, "output ", i));
      expect_close(graph, actual[i].tensor(), expected[i].tensor());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pt2Archives,
                         testing::Values("conv_net", "decomposed", "attention", "norms", "grouped", "shapes", "layouts",
                                         "gru", "branches", "loops", "indexing", "instances", "functions", "core",
                                         "precise", "parts", "bags", "bags_core", "cells"),
                         [](const auto& test) { return test.param; });

TEST(Pt2, NamesNodesAfterTheirModules) {
  const Graph graph = import_model(pt2_file("conv_net.pt2"));
  EXPECT_EQ(node_of(graph, "features.0").op(), "Conv");
  EXPECT_EQ(node_of(graph, "features.1").op(), "BatchNormalization");
  EXPECT_EQ(node_of(graph, "features.2").op(), "Relu");
  EXPECT_EQ(node_of(graph, "act").op(), "HardSwish");
  EXPECT_EQ(node_of(graph, "act_2").op(), "HardSwish");  // called again
  EXPECT_EQ(node_of(graph, "fc").op(), "Gemm");
  EXPECT_TRUE(graph.value("features.0.weight").is_parameter());
  EXPECT_FALSE(graph.value("features.1.running_mean").is_parameter());
  EXPECT_EQ(graph.source.format, "pt2");
}

TEST(Pt2, KeepsSymbols) {
  const Graph graph = import_model(pt2_file("attention.pt2"));
  const Dims& input = graph.inputs().at(0)->dims();
  ASSERT_TRUE(input.at(0).is_symbol() && input.at(1).is_symbol());
  EXPECT_EQ(graph.outputs().at(0)->dims().at(0), input[0] * input[1]);
}

TEST(Pt2, MakesTiedWeightsOneValue) {
  const Graph graph = import_model(pt2_file("layouts.pt2"));
  EXPECT_EQ(node_of(graph, "first").input(1), node_of(graph, "second").input(1));
  EXPECT_EQ(graph.value("mask").dtype(), DType::kBool);
  EXPECT_EQ(graph.value("scale").dtype(), DType::kBfloat16);
}

TEST(Pt2, GoesByWhatTheFileIs) {
  EXPECT_EQ(Pt2Copy("conv_net").import("model.onnx").source.format, "pt2");
  Pt2Copy other("conv_net");
  other.members = {{.name = "a/b.txt", .data = "x"}};
  EXPECT_NE(other.error().find("from neither torch.export nor TorchScript"), std::string::npos) << other.error();
}

TEST(Pt2, NamesTargetAndModuleOfWhatIsNotSupported) {
  const std::string message = error_of([] { import_model(pt2_file("unsupported.pt2")); });
  EXPECT_NE(message.find("torch.ops.aten.linalg_cholesky.default (in module 'inner.1')"), std::string::npos) << message;
  const Graph graph = import_model(pt2_file("unsupported.pt2"), {.allow_unsupported = true});
  EXPECT_EQ(node_of(graph, "inner.1.linalg_cholesky").op(), "aten.linalg_cholesky.default");
}

TEST(Pt2, RefusesAutocast) {
  const std::string message =
      Pt2Copy("precise")
          .change(R"({"name":"","arg":{"as_bool":false})", R"({"name":"","arg":{"as_bool":true})")
          .error();
  EXPECT_NE(message.find("torch.autocast() is not supported; export the module without it"), std::string::npos)
      << message;
}

// An object of a custom class can do anything: the archive does not hold its code.
TEST(Pt2, RefusesCustomObjects) {
  const std::string message =
      Pt2Copy("conv_net")
          .change(R"({"user_input":{"arg":{"as_tensor":{"name":"x"}}}})",
                  R"({"custom_obj":{"arg":{"name":"tok","class_fqn":"T"},"custom_obj_name":"tokenizer"}})")
          .error();
  EXPECT_NE(message.find("the program uses 'tokenizer', an object of a custom class"), std::string::npos) << message;
}

TEST(Pt2, RefusesStateAndStaleViews) {
  EXPECT_NE(error_of([] { import_model(pt2_file("counter.pt2")); }).find("writes to 'count'"), std::string::npos);
  for (const std::string name : {"stale_view", "stale_result", "stale_operand", "stale_item"}) {
    const std::string message = error_of([&] { import_model(pt2_file(name + ".pt2")); });
    EXPECT_NE(message.find("reads a view of a tensor that an in-place"), std::string::npos) << name << ": " << message;
  }
}

// A branch that returns a view of what it has changed: {u = t.t(); t.mul_(2); return u}.
TEST(Pt2, RefusesStaleViewsInsideBranches) {
  Pt2Copy copy("stale_operand");
  copy.change("aten.add_.Tensor", "aten.add.Tensor");
  EXPECT_EQ(copy.error(), "");
  copy.change(R"("nodes":[{"target":"torch.ops.aten.mul.Tensor")",
              R"("nodes":[{"target":"torch.ops.aten.t.default","name":"u","inputs":[{"name":"self","arg":)"
              R"({"as_tensor":{"name":"t"}}}],"outputs":[{"as_tensor":{"name":"u"}}]},)"
              R"({"target":"torch.ops.aten.mul_.Tensor")");
  copy.change(R"("outputs":[{"as_tensor":{"name":"mul"}}],"nodes")",
              R"("outputs":[{"as_tensor":{"name":"u"}}],"nodes")");
  copy.change(R"("tensor_values":{"t":)",
              R"("tensor_values":{"u":{"dtype":7,"sizes":[{"as_int":3},{"as_int":4}],"layout":7},"t":)");
  EXPECT_NE(copy.error().find("the result 'u' of a nested graph reads a view of a tensor"), std::string::npos)
      << copy.error();
}

TEST(Pt2Symbols, ReadProductsAndGiveUpOnTheRest) {
  EXPECT_EQ(dim_of_expression("Symbol('s77', positive=True, integer=True)").text(), "s77");
  EXPECT_EQ(dim_of_expression("Mul(Integer(2), Symbol('s77', positive=True, integer=True))").text(), "2*s77");
  EXPECT_EQ(dim_of_expression("2*s0*s1").text(), "2*s0*s1");
  EXPECT_EQ(dim_of_expression("12").text(), "12");
  for (const char* other : {"", "(", "s0 + 1", "Add(Symbol('s0'), Integer(1))", "s0//2", "Symbol('s0'", "2**s0", "-3",
                            "99999999999999999999", "Mul(Integer(2)"})
    EXPECT_TRUE(dim_of_expression(other).is_unknown()) << other;
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "Mul(";
  EXPECT_TRUE(dim_of_expression(deep).is_unknown());
}

}  // namespace
}  // namespace quench

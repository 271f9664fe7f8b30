// torch.cond and torch.while_loop as If and Loop. That they compute what torch computes, on inputs that take either
// branch and different numbers of turns, is in pt2_test.cpp.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "import/pt2_files.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/npz.h"

namespace quench {
namespace {

const Node& first_of(const Graph& graph, const std::string& op) {
  for (const auto& node : graph.nodes())
    if (node->op() == op) return *node;
  throw Error("no " + op);
}

TEST(Pt2Control, BranchesHoldTheirLayers) {
  const Graph graph = import_model(pt2_file("branches.pt2"));
  const Node& node = first_of(graph, "If");
  EXPECT_EQ(node.captures, static_cast<int>(node.inputs().size()) - 1);
  const Graph& then_branch = node.require_graph("then_branch");
  const Graph& else_branch = node.require_graph("else_branch");
  EXPECT_EQ(first_of(then_branch, "Gemm").name(), "plain");
  EXPECT_EQ(first_of(else_branch, "Gemm").name(), "gated");
  EXPECT_EQ(first_of(else_branch, "If").captures, 1) << "one branch inside another";
  EXPECT_EQ(graph.outputs().at(0)->dims().at(0), graph.inputs().at(0)->dims().at(0));
}

TEST(Pt2Control, TurnsHangOnTheData) {
  const auto arrays = read_npz(pt2_file("loops.npz"));
  EXPECT_NE(arrays.at("out0").tensor().item<std::int64_t>(), arrays.at("other_out0").tensor().item<std::int64_t>());
  const Graph graph = import_model(pt2_file("loops.pt2"));
  const Node& loop = first_of(graph, "Loop");
  EXPECT_EQ(loop.input(0), nullptr) << "no trip count";
  EXPECT_EQ(loop.captures, 2) << "weight and bias";
  EXPECT_EQ(first_of(loop.require_graph("body"), "Gemm").name(), "step");
}

TEST(Pt2Control, SurvivesBeingWritten) {
  for (const std::string name : {"branches", "loops"}) {
    const Graph graph = import_model(pt2_file(name + ".pt2"));
    const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
    const auto arrays = read_npz(pt2_file(name + ".npz"));
    for (const std::string input : {"in0", "other_in0"}) {
      const std::vector<RtValue> expected = Executor(graph).run({arrays.at(input)});
      const std::vector<RtValue> actual = Executor(again).run({arrays.at(input)});
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(at::equal(actual.at(i).tensor(), expected[i].tensor())) << name << " " << input;
    }
  }
}

TEST(Pt2Control, GraphsInsideThatDoNotFitAreRefused) {
  const auto expect_error = [](const Pt2Copy& copy, const std::string& part) {
    EXPECT_NE(copy.error().find(part), std::string::npos) << copy.error();
  };
  expect_error(
      Pt2Copy("branches")
          .change(R"("true_graph_0","graph":{"inputs":[)", R"("true_graph_0","graph":{"inputs":[{"as_int":1},)"),
      "a branch takes");
  expect_error(Pt2Copy("branches").change("torch.ops.aten.relu.default", "torch.ops.aten.linalg_cholesky.default"),
               "not supported: torch.ops.aten.linalg_cholesky.default");
  expect_error(Pt2Copy("branches").change(R"("target":"_operator.gt")", R"("target":"_operator.xor")"),
               "depends on the condition '_operator.xor' of sizes, which is not supported");
  expect_error(Pt2Copy("loops").change("higher_order.while_loop", "higher_order.scan"),
               "not supported: torch.ops.higher_order.scan");
}

}  // namespace
}  // namespace quench

// fold_batch_norm: into every kind of layer that it takes; the outputs stay what they were.
#include "passes/graphs.h"

namespace quench {
namespace {

TEST(FoldBatchNorm, FoldsIntoLayersOfOneAndThreeDimensions) {
  Graph line = with_batch_norm("Conv", at::randn({6, 4, 3}), 6);
  EXPECT_EQ(run_pass(line, "fold_batch_norm", at::randn({2, 4, 8}), kFoldTolerance), 1);
  Graph volume = with_batch_norm("Conv", at::randn({6, 2, 3, 3, 2}), 6);
  EXPECT_EQ(run_pass(volume, "fold_batch_norm", at::randn({2, 2, 5, 5, 5}), kFoldTolerance), 1);
  Graph transposed = with_batch_norm("ConvTranspose", at::randn({4, 6, 3}), 6);
  EXPECT_EQ(run_pass(transposed, "fold_batch_norm", at::randn({2, 4, 8}), kFoldTolerance), 1);
  for (const Graph* graph : {&line, &volume, &transposed}) EXPECT_EQ(ops_of(*graph).size(), 2U);
}

// A Linear followed by a BatchNorm1d, as an exporter writes it.
TEST(FoldBatchNorm, FoldsIntoAMatMulWithItsBias) {
  at::manual_seed(2);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 5}));
  Node& product = graph.add("MatMul", "fc", {&x, &graph.add_constant("w", at::randn({5, 6}))});
  Node& sum = graph.add("Add", "sum", {&graph.add_constant("b", at::randn({1, 6})), &product.output()});
  std::vector<Value*> inputs = {&sum.output()};
  for (const char* name : {"g", "beta", "m", "v"}) inputs.push_back(&graph.add_constant(name, at::rand({6}) + 0.1));
  graph.add_output(graph.add("BatchNormalization", "bn", inputs).output());
  EXPECT_EQ(run_pass(graph, "fuse_matmul_add", at::randn({3, 5}), kFoldTolerance), 1);
  EXPECT_EQ(run_pass(graph, "fold_batch_norm", at::randn({3, 5}), kFoldTolerance), 1);
  EXPECT_EQ(ops_of(graph), Ops{"Gemm"});
  EXPECT_EQ(graph.outputs()[0]->name(), "bn");
}

TEST(FoldBatchNorm, LeavesOneThatStandsAlone) {
  Graph graph = with_batch_norm("Conv", at::randn({6, 4, 3, 3}), 6);
  Node& bn = *graph.find_node("bn");
  Node& between = graph.insert_before(bn, "Neg", "neg", {bn.input(0)});
  graph.set_input(bn, 0, &between.output());
  EXPECT_EQ(run_pass(graph, "fold_batch_norm", at::randn({2, 4, 8, 8})), 0);
}

TEST(FoldBatchNorm, FoldsIntoConvConvTransposeAndGemm) {
  Graph conv = with_batch_norm("Conv", at::randn({6, 4, 3, 3}), 6, 1, false);
  EXPECT_EQ(run_pass(conv, "fold_batch_norm", at::randn({2, 4, 8, 8}), kFoldTolerance), 1);
  EXPECT_EQ(ops_of(conv), (Ops{"Conv", "Relu"}));
  Graph grouped = with_batch_norm("Conv", at::randn({6, 2, 3, 3}), 6, 2, true);
  EXPECT_EQ(run_pass(grouped, "fold_batch_norm", at::randn({2, 4, 8, 8}), kFoldTolerance), 1);
  Graph transposed = with_batch_norm("ConvTranspose", at::randn({4, 3, 3, 3}), 6, 2, true);
  EXPECT_EQ(run_pass(transposed, "fold_batch_norm", at::randn({2, 4, 8, 8}), kFoldTolerance), 1);
  Graph gemm = with_batch_norm("Gemm", at::randn({6, 5}), 6, 1, true);
  EXPECT_EQ(run_pass(gemm, "fold_batch_norm", at::randn({2, 5}), kFoldTolerance), 1);
}

TEST(FoldBatchNorm, LeavesAConvWithTwoUsersAlone) {
  Graph graph = with_batch_norm("Conv", at::randn({6, 4, 3, 3}), 6, 1, false);
  graph.add_output(graph.value("layer"));
  EXPECT_EQ(run_pass(graph, "fold_batch_norm", at::randn({2, 4, 8, 8})), 0);
}

TEST(FoldBatchNorm, LeavesTheTensorsOfTheirOwnerAlone) {
  const at::Tensor weight = at::randn({6, 4, 3, 3}), before = weight.clone();
  Graph graph = with_batch_norm("Conv", weight, 6, 1, false);
  run_passes(graph, {"fold_batch_norm"});
  EXPECT_TRUE(at::equal(weight, before));
}

}  // namespace
}  // namespace quench

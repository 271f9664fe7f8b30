#include "passes/graphs.h"
#include "support/describe.h"

namespace quench {
namespace {

// x [N, 2] by a weight [2, 3], and what is added to it.
Graph product_and_sum(const std::string& x, const std::string& bias, const std::string& sum) {
  return parse_graph(concat(R"(graph "g" {
    input %x : float)",
                            x, R"(
    const %w : float[2, 3] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    )",
                            bias, R"(
    %p = MatMul "p" (%x, %w)
    %y = Add "y" )",
                            sum, R"(
    output %y
  })"));
}
constexpr const char* kVector = "const %b : float[3] = {0.5, 0.25, 1.0}";

// Sums of two products and a bias, all of few bits: exact in whatever order.
TEST(FuseMatmulAdd, MakesAGemmOfMatMulAndItsBias) {
  for (const char* sum : {"(%p, %b)", "(%b, %p)"}) {
    Graph graph = product_and_sum("[N, 2]", kVector, sum);
    EXPECT_EQ(run_pass(graph, "fuse_matmul_add", at::tensor({1.0F, 2.0F, -3.0F, 0.5F}).reshape({2, 2})), 1);
    EXPECT_EQ(describe(graph), "y = Gemm(x, {1, 2, 3, 4, 5, 6}, {0.5, 0.25, 1})");
  }
}

TEST(FuseMatmulAdd, MakesARowAVector) {
  Graph graph = product_and_sum("[N, 2]", "const %b : float[1, 3] = {0.5, 0.25, 1.0}", "(%p, %b)");
  EXPECT_EQ(run_pass(graph, "fuse_matmul_add", at::tensor({1.0F, 2.0F}).reshape({1, 2})), 1);
  EXPECT_EQ(graph.find_node("p")->input(2)->rank(), 1);
}

TEST(FuseMatmulAdd, LeavesARowThatTrainsToItsOwner) {
  Graph graph = product_and_sum("[N, 2]", "param %b : float[1, 3] = {0.5, 0.25, 1.0}", "(%p, %b)");
  EXPECT_EQ(run_pass(graph, "fuse_matmul_add", at::tensor({1.0F, 2.0F}).reshape({1, 2})), 1);
  EXPECT_TRUE(graph.find_node("p")->input(2)->is_parameter());
  EXPECT_EQ(graph.find_node("p")->input(2)->rank(), 2);
}

TEST(FuseMatmulAdd, TakesAWeightThatIsComputed) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[N, 2]
    param %w : float[3, 2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    const %b : float[3] = {0.5, 0.25, 1.0}
    %t = Transpose "t" (%w) {perm = ints[1, 0]}
    %p = MatMul "p" (%x, %t)
    %y = Add "y" (%p, %b)
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "fuse_matmul_add", at::tensor({1.0F, 2.0F}).reshape({1, 2})), 1);
  EXPECT_EQ(ops_of(graph), (Ops{"Transpose", "Gemm"}));
}

TEST(FuseMatmulAdd, LeavesDataOfAnotherRankAlone) {
  Graph sequence = product_and_sum("[N, 4, 2]", kVector, "(%p, %b)");
  EXPECT_EQ(run_pass(sequence, "fuse_matmul_add", at::randn({2, 4, 2})), 0);
}

TEST(FuseMatmulAdd, LeavesWhatIsNoBiasAlone) {
  Graph scalar = product_and_sum("[N, 2]", "const %b : float[1] = {0.5}", "(%p, %b)");
  EXPECT_EQ(run_pass(scalar, "fuse_matmul_add", at::randn({2, 2})), 0);
  Graph whole = product_and_sum("[2, 2]", "const %b : float[2, 3] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}", "(%p, %b)");
  EXPECT_EQ(run_pass(whole, "fuse_matmul_add", at::randn({2, 2})), 0);
  Graph twice = product_and_sum("[N, 2]", kVector, "(%p, %p)");
  EXPECT_EQ(run_pass(twice, "fuse_matmul_add", at::randn({2, 2})), 0);
  Graph seen = product_and_sum("[N, 2]", kVector, "(%p, %b)");
  seen.add_output(seen.value("p"));
  EXPECT_EQ(run_pass(seen, "fuse_matmul_add", at::randn({2, 2})), 0);
}

}  // namespace
}  // namespace quench

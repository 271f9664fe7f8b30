#include "passes/graphs.h"
#include "support/describe.h"

namespace quench {
namespace {

Graph gemm_with(const std::string& bias) {
  return parse_graph(concat(R"(graph "g" {
    input %x : float[N, 2]
    const %w : float[3, 2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    )",
                            bias, R"(
    %y = Gemm "y" (%x, %w, %b) {transB = 1}
    output %y
  })"));
}

TEST(SpreadGemmBias, GivesEveryChannelItsNumber) {
  for (const char* bias :
       {"const %b : float[] = {0.5}", "const %b : float[1] = {0.5}", "const %b : float[1, 1] = {0.5}",
        "const %b : float[1, 3] = {0.5, 0.5, 0.5}", "param %b : float[1] = {0.5}"}) {
    Graph graph = gemm_with(bias);
    EXPECT_EQ(run_pass(graph, "spread_gemm_bias", at::tensor({1.0F, 2.0F}).reshape({1, 2})), 1) << bias;
    EXPECT_EQ(describe(graph), "y = Gemm(x, {1, 2, 3, 4, 5, 6}, {0.5, 0.5, 0.5}) transB=1") << bias;
  }
}

TEST(SpreadGemmBias, LeavesAVectorAndAMatrixAlone) {
  for (const char* bias :
       {"const %b : float[3] = {0.5, 0.25, 1.0}", "const %b : float[2, 3] = {0.5, 0.25, 1.0, 1.0, 2.0, 3.0}"}) {
    Graph graph = gemm_with(bias);
    EXPECT_EQ(run_pass(graph, "spread_gemm_bias", at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).reshape({2, 2})), 0) << bias;
  }
}

}  // namespace
}  // namespace quench

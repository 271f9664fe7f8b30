#include "passes/graphs.h"
#include "quench/error.h"

namespace quench {
namespace {

// A 1x1 convolution of two channels to three, then these lines.
Graph behind_conv(const std::string& constants, const std::string& lines) {
  return parse_graph(concat(R"(graph "g" {
    input %x : float[N, 2, 4, 4]
    const %w : float[3, 2, 1, 1] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    )",
                            constants, R"(
    %c = Conv "c" (%x, %w)
    )",
                            lines, R"(
    output %y
  })"));
}
constexpr const char* kScale = "const %s : float[1, 3, 1, 1] = {2.0, 0.5, -1.0}\n";
constexpr const char* kShift = "const %b : float[3, 1, 1] = {1.0, 0.0, 3.0}\n";

// x * s + b against (x - 0) * (s / sqrt(1 + 0)) + b: the same products and sums, but the second may be one fused
// multiply-add: half a unit in the last place of values up to 50.
constexpr double kTolerance = 4e-6;

TEST(RecogniseFrozenNorm, TakesMulAndAdd) {
  Graph graph = behind_conv(concat(kScale, kShift), R"(%m = Mul "m" (%s, %c)
    %y = Add "y" (%m, %b))");
  EXPECT_EQ(run_pass(graph, "recognise_frozen_norm", at::randn({2, 2, 4, 4}), kTolerance), 1);
  EXPECT_EQ(ops_of(graph), (Ops{"Conv", "BatchNormalization"}));
  const Node& bn = *graph.find_node("c.norm");
  EXPECT_TRUE(bn.frozen);
  EXPECT_EQ(bn.output().name(), "y");
  EXPECT_EQ(bn.get_float("epsilon", 1.0), 0.0);
  EXPECT_TRUE(at::equal(bn.input(1)->tensor(), at::tensor({2.0F, 0.5F, -1.0F})));
  EXPECT_TRUE(at::equal(bn.input(2)->tensor(), at::tensor({1.0F, 0.0F, 3.0F})));
  EXPECT_EQ(run_pass(graph, "fold_batch_norm", at::randn({2, 2, 4, 4}), 4 * kTolerance), 1);
  EXPECT_EQ(ops_of(graph), Ops{"Conv"});
}

TEST(RecogniseFrozenNorm, TakesEitherAlone) {
  Graph scaled = behind_conv(kScale, R"(%y = Mul "y" (%c, %s))");
  EXPECT_EQ(run_pass(scaled, "recognise_frozen_norm", at::randn({2, 2, 4, 4}), kTolerance), 1);
  EXPECT_TRUE(at::equal(scaled.find_node("c.norm")->input(2)->tensor(), at::zeros({3})));
  Graph shifted = behind_conv(kShift, R"(%y = Add "y" (%c, %b))");
  EXPECT_EQ(run_pass(shifted, "recognise_frozen_norm", at::randn({2, 2, 4, 4}), kTolerance), 1);
  EXPECT_TRUE(at::equal(shifted.find_node("c.norm")->input(1)->tensor(), at::ones({3})));
}

TEST(RecogniseFrozenNorm, TakesVectorsBehindAGemm) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[N, 2]
    const %w : float[3, 2] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
    const %s : float[3] = {2.0, 0.5, -1.0}
    const %b : float[1, 3] = {1.0, 0.0, 3.0}
    %c = Gemm "c" (%x, %w) {transB = 1}
    %m = Mul "m" (%c, %s)
    %y = Add "y" (%m, %b)
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "recognise_frozen_norm", at::randn({2, 2}), kTolerance), 1);
  EXPECT_EQ(ops_of(graph), (Ops{"Gemm", "BatchNormalization"}));
}

TEST(RecogniseFrozenNorm, LeavesOthersAlone) {
  const at::Tensor x = at::randn({2, 2, 4, 4});
  const auto changes = [&](const std::string& constant) {
    Graph graph = behind_conv(constant, R"(%y = Mul "y" (%c, %s))");
    return run_pass(graph, "recognise_frozen_norm", x);
  };
  EXPECT_EQ(changes("const %s : float[1] = {2.0}"), 0) << "one number for all channels";
  EXPECT_EQ(changes("const %s : float[4] = {1.0, 2.0, 3.0, 4.0}"), 0) << "along the width";
  EXPECT_EQ(changes("param %s : float[3, 1, 1] = {1.0, 2.0, 3.0}"), 0) << "it trains";
  Graph seen = behind_conv(kScale, R"(%y = Mul "y" (%c, %s))");
  seen.add_output(seen.value("c"));
  EXPECT_EQ(run_pass(seen, "recognise_frozen_norm", x), 0);
}

}  // namespace
}  // namespace quench

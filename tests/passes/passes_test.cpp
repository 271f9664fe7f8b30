// Every pass: a small graph before, its text after; the outputs stay the same; a second run changes nothing.
#include "quench/pass.h"

#include "passes/graphs.h"
#include "quench/error.h"

namespace quench {
namespace {

TEST(FoldConstants, ComputesWhatDependsOnConstantsAlone) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2, 3]
    const %a : float[3] = {1.0, 2.0, 3.0}
    const %b : float[3] = {0.5, 0.5, 0.5}
    %c = Add "c" (%a, %b) : float[3]
    %y = Mul "y" (%x, %c) : float[2, 3]
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "fold_constants", at::randn({2, 3})), 1);
  EXPECT_EQ(ops_of(graph), Ops{"Mul"});
  EXPECT_TRUE(at::equal(graph.value("c").tensor(), at::tensor({1.5F, 2.5F, 3.5F})));
}

TEST(FoldConstants, LeavesParametersToTrainingAndFoldWeightsTakesThem) {
  const std::string text = R"(graph "g" {
    input %x : float[2, 3]
    param %w : float[3] = {1.0, 2.0, 3.0}
    %n = Neg "n" (%w) : float[3]
    %y = Mul "y" (%x, %n) : float[2, 3]
    output %y
  })";
  Graph kept = parse_graph(text), folded = parse_graph(text);
  EXPECT_EQ(run_pass(kept, "fold_constants", at::randn({2, 3})), 0);
  EXPECT_EQ(run_pass(folded, "fold_weights", at::randn({2, 3})), 1);
}

TEST(FoldConstants, TakesShapesThatAreKnownToTheNumber) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2, 3]
    %s = Shape "s" (%x) : int64[2]
    %y = Reshape "y" (%x, %s) : float[2, 3]
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "fold_constants", at::randn({2, 3})), 1);
  EXPECT_EQ(ops_of(graph), Ops{"Reshape"});
}

// Stored in 16 bits and computed with in 32: in whatever size.
TEST(FoldConstants, WidensALargeWeightOnce) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 2048}));
  Value& stored = graph.add_constant("w", at::randn({2048, 1024}).to(at::kHalf));  // 4 MB; 8 MB in float32
  Node& cast = graph.add("Cast", "cast", {&stored});
  cast.attrs["to"] = static_cast<std::int64_t>(DType::kFloat);
  graph.add_output(graph.add("MatMul", "y", {&x, &cast.output()}).output());
  EXPECT_EQ(run_pass(graph, "fold_constants", at::randn({1, 2048})), 1);
  EXPECT_EQ(ops_of(graph), Ops{"MatMul"});
}

TEST(EliminateIdentity, KeepsTheNameOfAGraphOutput) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2]
    %a = Relu "a" (%x) : float[2]
    %y = Identity "y" (%a) : float[2]
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "eliminate_identity", at::randn({2})), 1);
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
  EXPECT_EQ(graph.outputs()[0]->producer()->op(), "Relu");
}

TEST(EliminateIdentity, KeepsOneBetweenAGraphInputAndAGraphOutput) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2]
    %y = Identity "y" (%x) : float[2]
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "eliminate_identity", at::randn({2})), 0);
}

TEST(EliminateDropout, LeavesOneWhoseMaskIsUsed) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2]
    %a, %m = Dropout "a" (%x) : float[2], bool[2]
    %b = Dropout "b" (%a) : float[2]
    %y = Relu "y" (%b) : float[2]
    output %y
    output %m
  })");
  EXPECT_EQ(run_pass(graph, "eliminate_dropout", at::randn({2})), 1);
  EXPECT_EQ(ops_of(graph), (Ops{"Dropout", "Relu"}));
}

TEST(EliminateDead, RemovesChainsAndConstantsThatNothingUses) {
  Graph graph = parse_graph(R"(graph "g" {
    input %x : float[2]
    const %c : float[2] = {1.0, 2.0}
    %a = Add "a" (%x, %c) : float[2]
    %b = Relu "b" (%a) : float[2]
    %y = Relu "y" (%x) : float[2]
    output %y
  })");
  EXPECT_EQ(run_pass(graph, "eliminate_dead", at::randn({2})), 3);
  EXPECT_EQ(ops_of(graph), Ops{"Relu"});
  EXPECT_TRUE(graph.constants().empty());
}

TEST(FuseConvKernels, FusesResidualAndActivation) {
  at::manual_seed(2);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 8, 8}));
  Value& w1 = graph.add_constant("w1", at::randn({4, 4, 3, 3}));
  Value& w2 = graph.add_constant("w2", at::randn({4, 4, 1, 1}));
  const std::vector<std::int64_t> pads = {1, 1, 1, 1};
  Node& c1 = graph.add("Conv", "c1", {&x, &w1, &graph.add_constant("b1", at::randn({4}))});
  c1.attrs["pads"] = pads;
  Node& clip = graph.add("Clip", "clip",
                         {&c1.output(), &graph.add_constant("lo", at::scalar_tensor(0.0F)),
                          &graph.add_constant("hi", at::scalar_tensor(6.0F))});
  Node& c2 = graph.add("Conv", "c2", {&clip.output(), &w2});
  Node& add = graph.add("Add", "add", {&x, &c2.output()});
  graph.add_output(graph.add("Relu", "y", {&add.output()}).output());
  EXPECT_EQ(run_pass(graph, "fuse_conv_kernels", at::randn({3, 4, 8, 8}), 1e-5), 2);
  EXPECT_EQ(ops_of(graph), (Ops{"quench.FusedConv", "quench.FusedConv"}));
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
  EXPECT_EQ(graph.find_node("c2.fused")->inputs().size(), 4U);
}

// a = Conv(x), r = Relu(Conv(x)), y = a + r: fusing the second chain replaces what the first one adds.
TEST(FuseConvKernels, SurvivesAResidualThatIsFusedItself) {
  at::manual_seed(3);
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 4, 6, 6}));
  Node& a = graph.add("Conv", "a", {&x, &graph.add_constant("wa", at::randn({4, 4, 1, 1}))});
  Node& b = graph.add("Conv", "b", {&x, &graph.add_constant("wb", at::randn({4, 4, 1, 1}))});
  Node& r = graph.add("Relu", "r", {&b.output()});
  graph.add_output(graph.add("Add", "y", {&a.output(), &r.output()}).output());
  EXPECT_EQ(run_pass(graph, "fuse_conv_kernels", at::randn({2, 4, 6, 6}), 1e-5), 2);
  EXPECT_EQ(ops_of(graph), (Ops{"quench.FusedConv", "quench.FusedConv"}));
}

TEST(FuseConvKernels, LeavesAWeightThatIsNotFiniteAlone) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {1, 4, 6, 6}));
  Node& conv = graph.add("Conv", "conv", {&x, &graph.add_constant("w", at::full({4, 4, 1, 1}, NAN))});
  graph.add_output(graph.add("Relu", "y", {&conv.output()}).output());
  EXPECT_EQ(run_passes(graph, {"infer_shapes", "fuse_conv_kernels"})[1].changes, 0);
}

TEST(FoldConstants, DoesNotMakeWhatIsMuchLargerThanWhatItReads) {
  Graph graph = parse_graph(R"(graph "g" {
    const %start : int64[] = {0}
    const %limit : int64[] = {5000000000}
    const %step : int64[] = {1}
    %y = Range "y" (%start, %limit, %step) : int64[5000000000]
    output %y
  })");
  EXPECT_EQ(run_passes(graph, {"infer_shapes", "fold_constants"})[1].changes, 0);
}

TEST(RunPasses, NamesThePassInAnError) {
  Graph graph;
  try {
    run_passes(graph, {"fold_batchnorm"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("unknown pass 'fold_batchnorm'; did you mean 'fold_batch_norm'?"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace quench

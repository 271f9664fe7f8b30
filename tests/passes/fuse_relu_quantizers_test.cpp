#include "passes/graphs.h"
#include "quench/executor.h"
#include "quench/fake_quant.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// x -> Mul w -> Relu -> quantizer -> Mul v
Graph rectified(const std::string& algorithm, QuantFlags flags) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {2, 3, 8, 8}));
  Value &w = graph.add_constant("w", at::full({1, 3, 1, 1}, 2.0F).requires_grad_()),
        &v = graph.add_constant("v", at::full({1, 3, 1, 1}, 0.5F));
  Value& relu = graph.add("Relu", "relu", {&graph.add("Mul", "before", {&x, &w}).output()}).output();
  graph.add_output(graph.add("Mul", "after", {&relu, &v}).output());
  infer_shapes(graph);
  const FakeQuantSpec spec{
      algorithm, QScheme::parse("int4 affine tensor"), Role::kActivation, QuantizeBy::kReciprocal, {}};
  insert_fake_quant(graph, relu, spec, flags);
  graph.value("relu.fq.scale").tensor().detach().fill_(0.25F);
  graph.value("relu.fq.zero_point").tensor().detach().fill_(-3.0F);  // negative values are on the grid too
  return graph;
}

struct Trained {
  at::Tensor y, dw, ds;
};

Trained trained(const Graph& graph) {
  const at::Tensor w = graph.value("w").tensor(), scale = graph.value("relu.fq.scale").tensor();
  w.mutable_grad() = at::Tensor();
  if (scale.requires_grad()) scale.mutable_grad() = at::Tensor();
  at::manual_seed(5);
  const at::Tensor x = at::randn({2, 3, 8, 8}), weights = at::randn({2, 3, 8, 8});
  ExecOptions options;
  options.grad = true;
  const at::Tensor y = Executor(graph, options).run({RtValue(x)})[0].tensor();
  (y * weights).sum().backward();
  return {y.detach(), w.grad().clone(), scale.grad().defined() ? scale.grad().clone() : at::zeros({1})};
}

TEST(FuseReluQuantizers, TrainsAsTheTwoDo) {
  for (const char* algorithm : {"fixed", "lsq", "dsq"}) {
    SCOPED_TRACE(algorithm);
    Graph graph = rectified(algorithm, {.quantize = true});
    const Trained two = trained(graph);
    ASSERT_EQ(run_passes(graph, {"fuse_relu_quantizers"})[0].changes, 1);
    EXPECT_FALSE(graph.find_node("relu"));
    EXPECT_EQ(graph.find_node("relu.fq")->input(0), &graph.find_node("before")->output());
    const Trained one = trained(graph);
    EXPECT_TRUE(at::equal(one.y, two.y) && at::equal(one.dw, two.dw) && at::equal(one.ds, two.ds));
    EXPECT_GE(one.y.min().item<float>(), 0.0F);
  }
}

TEST(FuseReluQuantizers, IsTheReluWhereTheQuantizerIsOff) {
  Graph graph = rectified("fixed", {});
  const at::Tensor plain = trained(graph).y;
  ASSERT_EQ(run_passes(graph, {"fuse_relu_quantizers"})[0].changes, 1);
  EXPECT_TRUE(at::equal(trained(graph).y, plain));
}

TEST(FuseReluQuantizers, LeavesSharedRelusAndOtherAlgorithmsAlone) {
  Graph shared = rectified("lsq", {.quantize = true}), other = rectified("pact", {.quantize = true});
  shared.add_output(shared.add("Abs", "reader", {&shared.value("relu")}).output());
  EXPECT_EQ(run_passes(shared, {"fuse_relu_quantizers"})[0].changes, 0);
  EXPECT_EQ(run_passes(other, {"fuse_relu_quantizers"})[0].changes, 0);
}

}  // namespace
}  // namespace quench

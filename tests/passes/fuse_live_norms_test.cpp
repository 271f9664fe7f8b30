#include "passes/live_graphs.h"

namespace quench {
namespace {

TEST(FuseLiveNorms, PutsDivisionBiasAndNormIntoOne) {
  for (const bool bias : {false, true}) {
    Graph graph = conv_with_norm(true, bias);
    run_passes(graph, {"make_norms_live"});
    const Graph open(graph);
    EXPECT_EQ(run_pass(graph, "fuse_live_norms", at::randn({2, 4, 8, 8}), kLayerTolerance), 1);
    EXPECT_EQ(ops_of(graph), (Ops{"quench.NormWeight", "quench.FakeQuant", "Conv", "quench.LiveNorm", "Relu"}));
    const Node& norm = *graph.find_node("bn");
    EXPECT_EQ(norm.output().name(), "bn") << "the name that a plan knows";
    EXPECT_EQ(norm.input(5), &graph.find_node("layer.norm_weight")->output(1));
    EXPECT_EQ(norm.input(6), graph.find_value("b"));
    EXPECT_TRUE(graph.value("v").tensor().is_same(open.value("v").tensor())) << "statistics are the graph's own";
  }
}

Graph with_quantized_bias() {
  Graph graph = conv_with_norm(true);
  Node& layer = *graph.find_node("layer");
  Value& step = graph.add_constant("s_x", at::scalar_tensor(0.01F));
  Node& bias =
      graph.insert_before(layer, "quench.QuantizeBias", "b.fq", {&graph.value("b"), &step, &graph.value("w.fq.scale")});
  bias.attrs["quantize"] = std::int64_t{1};
  bias.output().set_type(graph.value("b").type());
  graph.set_input(layer, 2, &bias.output());
  run_passes(graph, {"make_norms_live"});
  return graph;
}

struct Trained {
  at::Tensor y;
  std::vector<at::Tensor> tensors;  // gradients of w, g, beta, b; then the statistics
};

Trained train_once(const Graph& graph, const at::Tensor& x) {
  for (const char* name : {"w", "g", "beta", "b"}) graph.value(name).tensor().requires_grad_();
  ExecOptions options;
  options.grad = options.training = true;
  Trained trained{Executor(graph, options).run({RtValue(x)})[0].tensor(), {}};
  trained.y.square().mean().backward();
  for (const char* name : {"w", "g", "beta", "b"}) trained.tensors.push_back(graph.value(name).tensor().grad());
  for (const char* name : {"m", "v"}) trained.tensors.push_back(graph.value(name).tensor());
  return trained;
}

TEST(FuseLiveNorms, TrainsAsTheOpenFormDoes) {
  for (const bool quantized_bias : {false, true}) {
    Graph open = quantized_bias ? with_quantized_bias() : conv_with_norm(true);
    run_passes(open, {"make_norms_live"});
    Graph fused = open.clone();
    ASSERT_EQ(run_passes(fused, {"fuse_live_norms"})[0].changes, 1);
    const at::Tensor x = at::randn({2, 4, 8, 8});
    const Trained one = train_once(fused, x), other = train_once(open, x);
    EXPECT_TRUE(at::allclose(one.y, other.y, 0, 2 * kLayerTolerance)) << (one.y - other.y).abs().max();
    // As in make_norms_live_test: averages of terms like those of kLayerTolerance.
    for (std::size_t i = 0; i < one.tensors.size(); ++i) {
      EXPECT_TRUE(at::allclose(one.tensors[i], other.tensors[i], 1e-4, kLayerTolerance))
          << i << (one.tensors[i] - other.tensors[i]).abs().max();
    }
  }
}

TEST(FuseLiveNorms, CanStillBeFrozenAndFolded) {
  Graph graph = conv_with_norm(true);
  run_passes(graph, {"make_norms_live"});
  Graph fused(graph), frozen(graph);
  run_passes(fused, {"fuse_live_norms", "freeze_norms"});
  run_passes(frozen, {"freeze_norms"});
  EXPECT_EQ(to_text(fused), to_text(frozen));
  run_passes(fused, {"fold_live_norms"});
  EXPECT_EQ(ops_of(fused), (Ops{"quench.FakeQuant", "Conv", "Relu"}));
}

TEST(FuseLiveNorms, LeavesOtherNormsAlone) {
  Graph plain = conv_with_norm(true), odd = conv_with_norm(true);
  EXPECT_EQ(run_passes(plain, {"fuse_live_norms"})[0].changes, 0);
  run_passes(odd, {"make_norms_live"});
  Node& bn = *odd.find_node("bn");
  Node& more = odd.insert_before(bn, "Neg", "more", {bn.input(0)});
  more.output().set_type(bn.input(0)->type());
  odd.set_input(bn, 0, &more.output());
  EXPECT_EQ(run_passes(odd, {"fuse_live_norms"})[0].changes, 0);
}

TEST(TrainingPasses, MakeACopyThatTrainsTheOriginal) {
  Graph graph = conv_with_norm(true);
  run_passes(graph, {"make_norms_live"});
  Graph copy(graph);
  run_passes(copy, training_passes());
  const at::Tensor before = graph.value("m").tensor().clone();
  train_once(copy, at::randn({2, 4, 8, 8}));
  EXPECT_FALSE(at::equal(graph.value("m").tensor(), before)) << "the running mean is the graph's own";
  EXPECT_TRUE(graph.value("w").tensor().grad().defined());
}

}  // namespace
}  // namespace quench

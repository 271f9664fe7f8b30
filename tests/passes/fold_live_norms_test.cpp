#include "passes/live_graphs.h"
#include "support/describe.h"

namespace quench {
namespace {

at::Tensor fetch(const Graph& graph, const std::string& name) {
  return Executor(graph).run({}, {name}).at(name).tensor();
}

TEST(FoldLiveNorms, GivesAPlainLayerWithTheSameQuantizer) {
  Graph graph = conv_with_norm(true);
  run_passes(graph, {"make_norms_live"});
  const at::Tensor trained = fetch(graph, "layer.norm_weight"), quantized = fetch(graph, "w.fq");
  const at::Tensor scale = graph.value("w.fq.scale").tensor(), x = at::randn({2, 4, 8, 8});
  const at::Tensor before = run_as(graph, x, false);
  EXPECT_EQ(run_passes(graph, {"fold_live_norms"})[0].changes, 1);
  EXPECT_EQ(ops_of(graph), (Ops{"quench.FakeQuant", "Conv", "Relu"}));
  EXPECT_TRUE(at::equal(graph.value("w").tensor(), trained)) << "not the very values that were quantized";
  EXPECT_TRUE(at::equal(fetch(graph, "w.fq"), quantized));
  EXPECT_TRUE(at::equal(graph.value("w.fq.scale").tensor(), scale));
  EXPECT_EQ(graph.find_node("layer")->input(2), &graph.value("b"));
  const at::Tensor after = run_as(graph, x, false);
  EXPECT_TRUE(at::allclose(after, before, 0, kLayerTolerance)) << (after - before).abs().max();
  EXPECT_EQ(run_passes(graph, {"fold_live_norms"})[0].changes, 0);
}

TEST(FoldLiveNorms, GivesTheBitsOfAFrozenOne) {
  Graph graph = conv_with_norm(true, false);
  run_passes(graph, {"make_norms_live", "freeze_norms"});
  const at::Tensor x = at::randn({2, 4, 8, 8}), before = run_as(graph, x, true);
  EXPECT_EQ(run_passes(graph, {"fold_live_norms"})[0].changes, 1);
  EXPECT_TRUE(at::equal(run_as(graph, x, false), before));
  EXPECT_EQ(graph.find_node("layer")->input(2)->name(), "layer.bias");
}

TEST(FoldLiveNorms, NotesChannelsThatNeededTheGuard) {
  Graph graph = conv_with_norm(true);
  graph.set_tensor(graph.value("g"), at::tensor({0.0F, 1.0F, -1e-9F, 1.0F, -2.0F, 0.5F}));
  run_passes(graph, {"make_norms_live", "fold_live_norms"});
  EXPECT_EQ(graph.find_node("layer")->metadata.at("quench.guarded_channels"), "0 2");
  Graph sound = conv_with_norm(true);
  run_passes(sound, {"make_norms_live", "fold_live_norms"});
  EXPECT_FALSE(sound.find_node("layer")->metadata.contains("quench.guarded_channels"));
}

TEST(FoldLiveNorms, KeepsTheQuantizerOfABiasThatWasNone) {
  Graph graph = with_batch_norm("Conv", at::randn({6, 4, 3, 3}), 6, 1, false);
  EXPECT_EQ(run_pass(graph, "add_norm_bias", at::randn({2, 4, 8, 8})), 1);
  graph = quantized_norm(graph, true);
  insert_fake_quant(graph, graph.value("layer.bias"),
                    {"fixed", QScheme::parse("int8 symmetric tensor"), Role::kBias, QuantizeBy::kReciprocal, {}});
  run_passes(graph, {"make_norms_live"});
  const at::Tensor bias = fetch(graph, "layer.bias.fq");
  run_passes(graph, {"fold_live_norms"});
  EXPECT_EQ(ops_of(graph), (Ops{"quench.FakeQuant", "quench.FakeQuant", "Conv", "Relu"}));
  EXPECT_TRUE(at::equal(graph.value("layer.bias").tensor(), bias));
  EXPECT_EQ(graph.find_node("layer")->input(2)->producer()->name(), "layer.bias.fq");
}

TEST(FoldLiveNorms, TakesAWeightThatIsComputed) {
  Graph graph = with_batch_norm("Gemm", at::randn({5, 6}), 6);
  Node& layer = *graph.find_node("layer");
  graph.value("w").set_parameter(true);
  Node& turned = graph.insert_before(layer, "Transpose", "turned", {&graph.value("w")});
  graph.set_input(layer, 1, &turned.output());
  infer_shapes(graph);
  insert_fake_quant(graph, turned.output(),
                    {"fixed", QScheme::parse("int8 symmetric channel:0"), Role::kWeight, QuantizeBy::kReciprocal, {}});
  EXPECT_EQ(run_passes(graph, {"make_norms_live", "fold_live_norms"})[1].changes, 1);
  EXPECT_EQ(graph.find_node("turned.fq")->input(0)->name(), "layer.weight");
}

TEST(FoldLiveNorms, RefusesAFormThatIsNone) {
  Graph graph = conv_with_norm(true);
  run_passes(graph, {"make_norms_live"});
  graph.add_output(graph.value("layer"));
  EXPECT_NE(message_of([&] { run_passes(graph, {"fold_live_norms"}); }).find("no BatchNormalization follows its layer"),
            std::string::npos);
}

}  // namespace
}  // namespace quench

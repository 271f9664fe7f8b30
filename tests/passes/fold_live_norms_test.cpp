#include "passes/live_graphs.h"
#include "quench/quantizers.h"
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

// k = 1 / sqrt(1e12) is 1e-6: trained as W * 1e-5, and divided by that again.
Graph with_guarded_channel() {
  at::manual_seed(7);
  at::Tensor w = at::randn({6, 4, 3, 3}), var = at::ones({6});
  w[2].mul_(1000);  // its scale stays above the least that there is
  var[2] = 1e12;
  Graph graph = with_batch_norm("Conv", w, 6);
  for (const char* name : {"g", "beta"}) graph.set_tensor(graph.value(name), at::ones({6}));
  graph.set_tensor(graph.value("v"), var);
  return graph;
}

TEST(FoldLiveNorms, FoldsAGuardedChannelWithItsTrueFactor) {
  Graph graph = quantized_norm(with_guarded_channel(), true);
  run_passes(graph, {"make_norms_live"});
  const at::Tensor x = at::randn({2, 4, 8, 8}), live = run_as(graph, x, false).select(1, 2);
  const at::Tensor codes = fetch(graph, "w.fq").select(0, 2) / graph.value("w.fq.scale").tensor().flatten()[2];
  run_passes(graph, {"fold_live_norms"});
  const at::Tensor folded = run_as(graph, x, false).select(1, 2),
                   scale = graph.value("w.fq.scale").tensor().flatten()[2];
  // The greatest weight lies on a tie, at 127.5 steps, and may round to the other side.
  const at::Tensor moved = (fetch(graph, "w.fq").select(0, 2) / scale - codes).abs();
  EXPECT_LT(moved.sum().item<float>(), 1.5) << "other codes than those that were trained";
  // One such step; and the live one divides sums of 36 products by k_s before it takes the mean off: 44 roundings of
  // sums of magnitudes of at most 36 * 4000 * 4 * 1e-6 < 1, and of beta. A fold with k_s is wrong by nine times what is
  // left of the output without beta.
  const double bound = (scale * x.abs().max()).item<double>() + 44 * 6e-8 * 2;
  EXPECT_TRUE(at::allclose(folded, live, 0, bound)) << (folded - live).abs().max();
  EXPECT_GT(9 * (live - 1).abs().max().item<double>(), 100 * bound);
}

// Its channels cannot be told apart: the weight is that of the true factor, as after freezing.
TEST(FoldLiveNorms, OneScaleForAllChannelsStaysAsItIs) {
  Graph graph = with_guarded_channel();
  infer_shapes(graph);
  insert_fake_quant(graph, graph.value("w"),
                    {"fixed", QScheme::parse("int8 symmetric tensor"), Role::kWeight, QuantizeBy::kReciprocal, {}},
                    {.quantize = true});
  graph.set_tensor(graph.value("w.fq.scale"), at::full_like(graph.value("w.fq.scale").tensor(), 1.0 / 1024));
  run_passes(graph, {"make_norms_live"});
  Graph frozen = graph.clone();
  run_passes(frozen, {"freeze_norms", "fold_live_norms"});
  run_passes(graph, {"fold_live_norms"});
  const at::Tensor x = at::randn({2, 4, 8, 8});
  EXPECT_TRUE(at::equal(graph.value("w.fq.scale").tensor(), frozen.value("w.fq.scale").tensor()));
  EXPECT_TRUE(at::equal(run_as(graph, x, false), run_as(frozen, x, false)));
  EXPECT_EQ(graph.find_node("layer")->metadata.at("quench.guarded_channels"), "2");
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

#include "passes/live_graphs.h"

namespace quench {
namespace {

TEST(MakeNormsLive, ScalesTheWeightAndDividesTheOutput) {
  Graph graph = conv_with_norm(true);
  EXPECT_EQ(run_passes(graph, {"make_norms_live"})[0].changes, 1);
  EXPECT_EQ(ops_of(graph), (Ops{"quench.NormWeight", "quench.FakeQuant", "Conv", "Div", "Reshape", "Add",
                                "BatchNormalization", "Relu"}));
  const Node &norm_weight = *graph.find_node("layer.norm_weight"), &layer = *graph.find_node("layer");
  EXPECT_EQ(norm_weight.input(0), &graph.value("w"));
  EXPECT_EQ(norm_weight.input(2), &graph.value("v"));
  EXPECT_EQ(layer.inputs().size(), 2U) << "the bias is added behind the division";
  EXPECT_EQ(layer.input(1)->producer()->name(), "w.fq") << "the quantizer stays";
  EXPECT_EQ(layer.input(1)->producer()->input(0), &norm_weight.output(0));
  EXPECT_EQ(run_passes(graph, {"make_norms_live"})[0].changes, 0);
}

TEST(MakeNormsLive, LeavesTheOutputAsItWasWithoutQuantizing) {
  struct Case {
    const char* op;
    at::Tensor weight, x;
    std::int64_t group = 1;
    int axis = 0;
  };
  at::manual_seed(3);
  const std::vector<Case> cases = {{"Conv", at::randn({6, 4, 3, 3}), at::randn({2, 4, 8, 8})},
                                   {"Conv", at::randn({6, 2, 3}), at::randn({2, 4, 8}), 2},
                                   {"Conv", at::randn({6, 2, 2, 3, 3}), at::randn({2, 2, 5, 5, 5})},
                                   {"ConvTranspose", at::randn({4, 6, 3, 3}), at::randn({2, 4, 8, 8}), 1, 1},
                                   {"ConvTranspose", at::randn({4, 3, 3, 3}), at::randn({2, 4, 8, 8}), 2, 1},
                                   {"Gemm", at::randn({6, 5}), at::randn({4, 5})}};
  for (const Case& one : cases)
    for (const bool bias : {false, true})
      for (const bool training : {false, true}) {
        Graph graph = quantized_norm(with_batch_norm(one.op, one.weight, 6, one.group, bias), false, one.axis);
        Graph plain = graph.clone();
        ASSERT_EQ(run_passes(graph, {"make_norms_live"})[0].changes, 1) << one.op;
        const at::Tensor after = run_as(graph, one.x, training), before = run_as(plain, one.x, training);
        // Batch statistics divide by a spread of at least 1/2 here.
        EXPECT_TRUE(at::allclose(after, before, 0, 2 * kLayerTolerance)) << one.op << (after - before).abs().max();
        // The running mean moves by a tenth of an average of such outputs.
        EXPECT_TRUE(at::allclose(graph.value("m").tensor(), plain.value("m").tensor(), 0, kLayerTolerance));
      }
}

// Without quantizing, k cancels, and so it must in the gradients.
TEST(MakeNormsLive, GivesTheGradientsOfTheLayerThatItWas) {
  const at::Tensor x = at::randn({2, 4, 8, 8});
  const auto gradients = [&](bool live) {
    Graph graph = conv_with_norm(false);
    if (live) run_passes(graph, {"make_norms_live"});
    for (const char* name : {"w", "g", "beta"}) graph.value(name).tensor().requires_grad_();
    ExecOptions options;
    options.grad = options.training = true;
    Executor(graph, options).run({RtValue(x)})[0].tensor().square().mean().backward();
    std::vector<at::Tensor> all;
    for (const char* name : {"w", "g", "beta"}) all.push_back(graph.value(name).tensor().grad());
    return all;
  };
  const std::vector<at::Tensor> plain = gradients(false), live = gradients(true);
  // Averages over 144 positions and more of terms like those of kLayerTolerance, times outputs of about 2.
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(at::allclose(live[i], plain[i], 1e-4, kLayerTolerance)) << i << (live[i] - plain[i]).abs().max();
}

// Quantizing: the gradients of W and gamma pass through FQ (straight where the code is in range) and k:
// docs/numerics.md 8.2.
TEST(MakeNormsLive, PassesGradientsThroughTheQuantizerAndTheFactor) {
  Graph graph = conv_with_norm(true, false);
  run_passes(graph, {"make_norms_live", "freeze_norms"});
  const at::Tensor x = at::randn({2, 4, 8, 8}), w = graph.value("w").tensor().detach().clone().requires_grad_(),
                   g = graph.value("g").tensor().detach().clone().requires_grad_();
  const auto at_ = [&](const char* name) { return graph.value(name).tensor(); };
  const at::Tensor k = g / (at_("v") + 1e-5).sqrt(), scaled = w * k.reshape({6, 1, 1, 1});
  const at::Tensor step = at_("w.fq.scale").reshape({6, 1, 1, 1}), codes = at::round(scaled.detach() / step);
  const at::Tensor rounded = codes.clamp(-128, 127) * step;
  const at::Tensor quantized = at::where(codes > 127, rounded, scaled + (rounded - scaled).detach());
  at::relu(at::conv2d(x, quantized, -at_("m") * k + at_("beta"))).square().mean().backward();
  for (const char* name : {"w", "g"}) graph.value(name).tensor().requires_grad_();
  ExecOptions options;
  options.grad = options.training = true;
  Executor(graph, options).run({RtValue(x)})[0].tensor().square().mean().backward();
  // The same products; quantized differs by the rounding of s * n alone.
  EXPECT_TRUE(at::allclose(at_("w").grad(), w.grad(), 1e-4, 1e-5)) << (at_("w").grad() - w.grad()).abs().max();
  EXPECT_TRUE(at::allclose(at_("g").grad(), g.grad(), 1e-4, 1e-4)) << (at_("g").grad() - g.grad()).abs().max();
}

TEST(MakeNormsLive, MakesOneConvolutionOfAFrozenOne) {
  Graph graph = conv_with_norm(true);
  graph.find_node("bn")->frozen = true;
  EXPECT_EQ(run_passes(graph, {"make_norms_live"})[0].changes, 1);
  EXPECT_EQ(ops_of(graph), (Ops{"quench.NormWeight", "quench.FakeQuant", "Conv", "Relu"}));
  EXPECT_EQ(graph.find_node("layer")->output().name(), "bn") << "the name that a plan knows";
  EXPECT_EQ(graph.find_node("layer.norm_weight")->get_int("guard", 1), 0);
}

TEST(MakeNormsLive, SurvivesFactorsOfNothing) {
  for (const bool training : {false, true}) {
    Graph graph = conv_with_norm(true);
    graph.set_tensor(graph.value("g"), at::tensor({0.0F, 1e-9F, -1e-9F, 1.0F, -2.0F, 0.5F}));
    run_passes(graph, {"make_norms_live"});
    EXPECT_TRUE(run_as(graph, at::randn({2, 4, 8, 8}), training).isfinite().all().item<bool>());
    const Node& node = *graph.find_node("layer.norm_weight");
    const std::string name = node.output(1).name();
    const at::Tensor k = Executor(graph).run({}, {name}).at(name).tensor().flatten();
    EXPECT_TRUE(at::equal(k.slice(0, 0, 3), at::tensor({1e-5F, 1e-5F, -1e-5F}))) << k;
  }
}

TEST(MakeNormsLive, KeepsABiasQuantizerInTheLayer) {
  Graph graph = conv_with_norm(true);
  Node& layer = *graph.find_node("layer");
  Value& step = graph.add_constant("s_x", at::scalar_tensor(0.01F));
  Node& bias =
      graph.insert_before(layer, "quench.QuantizeBias", "b.fq", {&graph.value("b"), &step, &graph.value("w.fq.scale")});
  bias.attrs["quantize"] = std::int64_t{1};
  bias.output().set_type(graph.value("b").type());
  graph.set_input(layer, 2, &bias.output());
  EXPECT_EQ(run_passes(graph, {"make_norms_live"})[0].changes, 1);
  EXPECT_EQ(graph.find_node("b.fq")->input(0), &graph.find_node("layer.norm_weight")->output(2));
  const at::Tensor x = at::randn({2, 4, 8, 8});
  const at::Tensor open = run_as(graph, x, false);
  run_passes(graph, {"freeze_norms"});
  EXPECT_EQ(ops_of(graph), (Ops{"quench.NormWeight", "quench.FakeQuant", "quench.QuantizeBias", "Conv", "Relu"}));
  // Open and closed differ by rounding alone: both quantize the same weight and the same bias, but the open form takes
  // off the bias as it was before rounding and so keeps the difference, half a step.
  const double half_step = 0.5 * 0.01 * graph.value("w.fq.scale").tensor().max().item<double>();
  const at::Tensor closed = run_as(graph, x, false);
  EXPECT_LE((open - closed).abs().max().item<double>(), half_step + kLayerTolerance);
}

TEST(MakeNormsLive, LeavesAWeightThatTwoLayersShare) {
  Graph graph = conv_with_norm(true, false);
  Node& other = graph.add("Conv", "other", {&graph.value("x"), &graph.value("w.fq")});
  graph.add_output(other.output());
  EXPECT_EQ(run_passes(graph, {"make_norms_live"})[0].changes, 0);
}

}  // namespace
}  // namespace quench

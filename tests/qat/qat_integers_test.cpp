// What becomes of a QatModule: its integers are those that were trained, whatever algorithm its quantizers follow.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>

#include "qat/stubbed_net.h"
#include "quench/calibrate.h"
#include "quench/data.h"
#include "quench/deploy.h"

namespace quench {
namespace {

// The weight as the last forward would quantize it, from its float tensors, is what the integers have.
void expect_the_trained_grid(QatModule& q, const Net& net) {
  const at::Tensor k = (net.bn->weight / (net.bn->running_var + 1e-5).sqrt()).detach();
  const at::Tensor folded = net.conv->weight.detach() * k.reshape({4, 1, 1, 1});
  const QuantizedModel converted = convert(q);
  const at::Tensor codes = weight(converted, "conv").codes;
  ASSERT_EQ(codes.scalar_type(), at::kChar);
  at::Tensor scale;
  for (const auto& item : q.named_parameters())
    if (item.key() == "conv.weight_fake_quant.scale") scale = item.value().detach();
  for (const auto& item : q.named_buffers())
    if (item.key() == "conv.weight_fake_quant.scale") scale = item.value();
  const at::Tensor expected = (folded / scale.reshape({-1, 1, 1, 1})).round().clamp(-128, 127);
  const at::Tensor differ = (codes.to(at::kFloat) - expected).abs();
  // A tie may fall either way between this formula and the kernel's; more than one step would be another grid.
  EXPECT_LE(differ.max().item<double>(), 1);
  EXPECT_LE(differ.sum().item<double>(), 1);
}

// What the quantizer of a weight gives in training, to the bit.
void expect_the_trained_codes(const QatModule& q, const std::string& layer) {
  const Graph& graph = q.graph();
  for (const Node* node : quantizers_of(graph)) {
    if (quantized_value(node->name()) != layer + ".weight") continue;
    const std::string name = node->output().name();
    const at::Tensor trained = Executor(graph).run({}, {name}).at(name).tensor();
    const at::Tensor converted = weight(convert(q), layer).dequantize();
    EXPECT_TRUE(at::equal(trained.sizes() == converted.sizes() ? converted : converted.t(), trained)) << layer;
    return;
  }
  FAIL() << layer << " has no quantizer";
}

TEST(QatIntegers, IntegersHaveTheTrainedGrid) {
  for (const QConfig& qconfig : {get_default_qat_qconfig("fbgemm"), learning()}) {
    const auto net = make_net();
    const auto q = prepared(net, qconfig);
    torch::optim::SGD optimizer(q->parameters(), 0.05);
    for (int i = 0; i < 10; ++i) step(*q, optimizer, images(16));
    expect_the_trained_grid(*q, *net);
    q->eval();
    const at::Tensor x = images(32), simulated = q->forward(x).detach();
    expect_the_trained_codes(*q, "conv");
    expect_the_trained_codes(*q, "fc");
    QuantizedModel trained = q->model();
    EXPECT_EQ(trained.stage, ModelStage::kTrained);
    EXPECT_TRUE(at::allclose(trained.run({x})[0].tensor(), simulated, 0, 1e-5));
    const double scale = qparams_of(*quantizer_of(trained.graph, "fc")).scale[0];
    const at::Tensor got = convert(*q).run({x})[0].tensor();
    // In steps of the last layer's grid. The bias in int32 is off by up to half a step of its own, about a thousandth
    // of one of the 64 codes that an output is made of: it moves few of them, and those by one.
    const at::Tensor steps = ((got - simulated) / scale).abs().round();
    EXPECT_LE(steps.max().item<double>(), 1);
    EXPECT_GE((steps == 0).to(at::kDouble).mean().item<double>(), 0.9);
  }
}

TEST(QatIntegers, TheSnapshotDoesNotTrainOn) {
  const auto net = make_net();
  const auto q = prepared(net, get_default_qat_qconfig("fbgemm"));
  torch::optim::SGD optimizer(q->parameters(), 0.1);
  step(*q, optimizer, images(8));
  const QuantizedModel trained = q->model();
  const at::Tensor before = trained.graph.value("fc.weight").tensor().clone();
  step(*q, optimizer, images(8));
  EXPECT_TRUE(at::equal(trained.graph.value("fc.weight").tensor(), before));
  EXPECT_FALSE(at::equal(net->fc->weight.detach(), before));
}

// Any algorithm that takes the role: what it learns gets a gradient, and its integers can be made.
void expect_it_trains(Role role, const std::string& algorithm) {
  const FakeQuantEntry& entry = FakeQuantRegistry::instance().get(algorithm);
  QConfig qconfig = get_default_qat_qconfig("onednn");
  QuantSettings& settings = role == Role::kWeight ? qconfig.weight : qconfig.activation;
  settings.fake_quant = algorithm;
  if (!entry.per_channel) settings.granularity = Granularity::kTensor;
  if (algorithm == "tqt") settings.power_of_two_scale = settings.symmetric = true;
  const auto net = make_net();
  const auto q = prepared(net, qconfig);
  torch::optim::SGD optimizer(q->parameters(), 0.01);
  for (int i = 0; i < 3; ++i) step(*q, optimizer, images(16));
  for (const auto& item : q->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << algorithm << " " << item.key();
    EXPECT_TRUE(item.value().isfinite().all().item<bool>()) << algorithm << " " << item.key();
  }
  EXPECT_EQ(q->parameters().size() > net->parameters().size(), entry.learns_scale || entry.params != nullptr)
      << algorithm;
  EXPECT_EQ(convert(*q).run({images(3)})[0].tensor().sizes(), at::IntArrayRef({3, 5})) << algorithm;
}

TEST(QatIntegers, EveryAlgorithmForTrainingTrains) {
  for (const char* algorithm : {"fixed", "lsq", "dorefa", "dsq", "tqt"}) expect_it_trains(Role::kWeight, algorithm);
  for (const char* algorithm : {"fixed", "lsq", "lsq_plus", "pact", "dsq", "tqt"})
    expect_it_trains(Role::kActivation, algorithm);
}

// A network from elsewhere, calibrated with data before it trains.
TEST(QatIntegers, TakesACalibratedModel) {
  const auto net = make_net();
  const Graph graph = from_module(net, {images(1)});
  QuantizedModel model = prepare_by_platform(graph, "onnxruntime", {}, {NormMode::kLive, std::nullopt});
  std::vector<at::Tensor> items;
  for (int i = 0; i < 16; ++i) items.push_back(images(1)[0]);
  calibrate(model, *dataset_of(items));
  const auto q = std::make_shared<QatModule>(model);
  EXPECT_EQ(q->named_parameters()["conv.weight"].data_ptr(), net->conv->weight.data_ptr());
  q->eval();
  EXPECT_NO_THROW(q->forward(images(2)));  // the scales are known
  q->train();
  torch::optim::SGD optimizer(q->parameters(), 0.1);
  const at::Tensor before = net->fc->weight.detach().clone();
  step(*q, optimizer, images(8));
  EXPECT_FALSE(at::equal(net->fc->weight.detach(), before));
}

// Deploying reads the file back and compares it with the simulation.
TEST(QatIntegers, TheTrainedModelDeploys) {
  const auto net = make_net();
  QConfig qconfig = get_default_qat_qconfig("onnxruntime");
  qconfig.weight.bits = 4;
  const auto q = prepared(net, qconfig);
  torch::optim::SGD optimizer(q->parameters(), 0.05);
  for (int i = 0; i < 3; ++i) step(*q, optimizer, images(16));
  DeployOptions options;
  options.name = "net";
  const Deployment deployment = deploy(q->model(), options);
  EXPECT_FALSE(deployment.files.empty());
}

}  // namespace
}  // namespace quench

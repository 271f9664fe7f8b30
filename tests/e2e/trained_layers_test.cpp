// Each kind of layer that may have a batch norm behind it, trained with that norm live: its deployed file holds the
// codes that it had in training, to the bit, and ONNX Runtime computes with them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include "quench/data.h"
#include "quench/deploy.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/qat.h"
#include "quench/quantizers.h"
#include "quench/verify.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

namespace nn = torch::nn;

struct Layers : nn::Module {
  Layers() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 6, 3).padding(1)));
    conv_bn = register_module("conv_bn", nn::BatchNorm2d(6));
    depthwise = register_module("depthwise", nn::Conv2d(nn::Conv2dOptions(6, 6, 3).groups(6).bias(false)));
    depthwise_bn = register_module("depthwise_bn", nn::BatchNorm2d(6));
    up = register_module("up", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(6, 4, 2).stride(2)));
    up_bn = register_module("up_bn", nn::BatchNorm2d(4));
    hidden = register_module("hidden", nn::Linear(4 * 8 * 8, 12));
    hidden_bn = register_module("hidden_bn", nn::BatchNorm1d(12));
    last = register_module("last", nn::Linear(12, 5));
  }
  at::Tensor forward(at::Tensor x) {
    x = at::relu(conv_bn(conv(x)));
    x = at::relu(depthwise_bn(depthwise(x)));
    x = at::relu(up_bn(up(x)));
    x = at::relu(hidden_bn(hidden(at::flatten(x, 1))));
    return last(x);
  }
  nn::Conv2d conv{nullptr}, depthwise{nullptr};
  nn::ConvTranspose2d up{nullptr};
  nn::Linear hidden{nullptr}, last{nullptr};
  nn::BatchNorm2d conv_bn{nullptr}, depthwise_bn{nullptr}, up_bn{nullptr};
  nn::BatchNorm1d hidden_bn{nullptr};
};

constexpr const char* kLayers[] = {"conv", "depthwise", "up", "hidden", "last"};

at::Tensor images(std::int64_t count) { return at::randn({count, 2, 6, 6}); }

std::shared_ptr<QatModule> trained(const std::shared_ptr<Layers>& net, const QConfig& qconfig) {
  net->train();
  const auto q = prepare_qat(net, {images(2)}, qconfig);
  torch::optim::SGD optimizer(q->parameters(), 0.02);
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    const at::Tensor x = images(16);
    at::cross_entropy_loss(q->forward(x), (x.mean({1, 2, 3}) * 60).to(at::kLong).clamp(-2, 2) + 2).backward();
    optimizer.step();
  }
  q->eval();
  q->forward(images(2));  // observers are off from here on
  return q;
}

// What the weight's quantizer gives: by the graph that trained, and by a file.
std::map<std::string, at::Tensor> weights_in_training(const Graph& graph) {
  std::map<std::string, at::Tensor> found;
  for (const Node* node : quantizers_of(graph)) {
    const std::string name = node->output().name(), value = quantized_value(node->name());
    if (value.ends_with(".weight")) found[value] = Executor(graph).run({}, {name}).at(name).tensor().detach();
  }
  return found;
}

// In a Q/DQ file: what the DequantizeLinear in front of the layer makes of its constant codes.
std::map<std::string, at::Tensor> weights_in_file(const Graph& file) {
  std::map<std::string, at::Tensor> found;
  for (const auto& node : file.nodes()) {
    if (node->inputs().size() < 2 || !node->inputs()[1] || !node->inputs()[1]->producer()) continue;
    const Node& maker = *node->inputs()[1]->producer();
    if (maker.op() != "DequantizeLinear" || !maker.inputs()[0]->is_constant()) continue;
    found[node->name()] = Executor(file).run({}, {maker.output().name()}).at(maker.output().name()).tensor();
  }
  return found;
}

void expect_the_trained_codes(const Graph& graph, const Graph& file) {
  const std::map<std::string, at::Tensor> before = weights_in_training(graph), after = weights_in_file(file);
  for (const std::string layer : kLayers) {
    ASSERT_TRUE(before.contains(layer + ".weight")) << layer;
    const auto found =
        std::find_if(after.begin(), after.end(), [&](const auto& one) { return one.first.rfind(layer, 0) == 0; });
    ASSERT_NE(found, after.end()) << layer;
    const at::Tensor here = before.at(layer + ".weight"), there = found->second;
    EXPECT_TRUE(at::equal(there.sizes() == here.sizes() ? there : there.t(), here)) << layer;
    EXPECT_GT(std::get<0>(at::_unique(here)).numel(), 5) << layer << " shows nothing";
  }
}

TEST(TrainedLayers, TheFileHasTheCodesOfTraining) {
  at::manual_seed(3);
  for (const char* algorithm : {"fixed", "lsq"}) {
    QConfig qconfig = get_default_qat_qconfig("onnxruntime");
    qconfig.weight.fake_quant = algorithm;
    const auto net = std::make_shared<Layers>();
    const auto q = trained(net, qconfig);
    const TemporaryFolder folder;
    write_deployment(deploy(q->model(), {.name = "layers"}), folder.path("files"));
    const std::string file = deployed_files(folder.path("files"), "onnxruntime").at(0);
    expect_the_trained_codes(q->graph(), import_model(file));
    std::string why;
    if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
    std::vector<at::Tensor> items;
    for (int i = 0; i < 32; ++i) items.push_back(images(1)[0]);
    VerifyOptions options;
    options.layers = true;
    const VerifyResult result = verify(file, *dataset_of(items), options);
    EXPECT_TRUE(result.passed()) << algorithm;
    EXPECT_EQ(result.equal, result.predictions) << algorithm;
  }
}

}  // namespace
}  // namespace quench

// The ResNets for CIFAR of He et al. 2015, section 4.2: three stages of 16, 32 and 64 channels, and
// shortcuts without parameters (option A: every second pixel, new channels zero). Parameter names are
// those of the common PyTorch checkpoints ("layer2.0.conv1.weight", "linear.bias").
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include "zoo/layers.h"

namespace quench {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;

struct CifarBlock : ZooNet {
  CifarBlock(std::int64_t in, std::int64_t planes, std::int64_t stride)
      : conv1(register_module("conv1", make_conv({.in = in, .out = planes, .kernel = 3, .stride = stride}))),
        bn1(register_module("bn1", BatchNorm2d(planes))),
        conv2(register_module("conv2", make_conv({.in = planes, .out = planes, .kernel = 3}))),
        bn2(register_module("bn2", BatchNorm2d(planes))),
        relu(register_module("relu", std::make_shared<ReLU>())),
        add_relu(register_module("add_relu", std::make_shared<FloatFunctional>())),
        new_channels(planes - in) {}

  at::Tensor forward(at::Tensor x) override {
    at::Tensor y = relu->forward(bn1->forward(conv1->forward(x)));
    y = bn2->forward(conv2->forward(y));
    return add_relu->add_relu(y, shortcut(x));
  }

  FuseLists fusible() const override { return {{"conv1", "bn1", "relu"}, {"conv2", "bn2"}}; }

  at::Tensor shortcut(const at::Tensor& x) const {
    if (new_channels == 0) return x;
    const at::Tensor half = x.slice(2, 0, std::nullopt, 2).slice(3, 0, std::nullopt, 2);
    return at::constant_pad_nd(half, {0, 0, 0, 0, new_channels / 2, new_channels / 2});
  }

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  std::shared_ptr<ReLU> relu;
  std::shared_ptr<FloatFunctional> add_relu;
  std::int64_t new_channels;
};

struct CifarResNet : StubbedNet {
  CifarResNet(int blocks, const ZooOptions& options)
      : StubbedNet(options.quantizable),
        conv1(register_module("conv1", make_conv({.in = options.in_channels, .out = 16, .kernel = 3}))),
        bn1(register_module("bn1", BatchNorm2d(16))),
        relu(register_module("relu", std::make_shared<ReLU>())) {
    std::int64_t channels = 16;
    for (int stage = 0; stage < 3; ++stage) {
      const std::int64_t planes = 16 << stage;
      auto layer = register_module("layer" + std::to_string(stage + 1), std::make_shared<Chain>());
      for (int block = 0; block < blocks; ++block) {
        layer->push_back(std::make_shared<CifarBlock>(channels, planes, planes == channels ? 1 : 2));
        channels = planes;
      }
      stages.push_back(layer);
    }
    linear = register_module("linear", torch::nn::Linear(channels, options.num_classes));
    init_convolutions(*this, Fan::kIn);
    torch::nn::init::kaiming_normal_(linear->weight);
  }

  FuseLists fusible() const override { return {{"conv1", "bn1", "relu"}}; }

  at::Tensor body(at::Tensor x) override {
    x = relu->forward(bn1->forward(conv1->forward(x)));
    for (const auto& stage : stages) x = stage->forward(x);
    return linear->forward(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1));
  }

  Conv2d conv1;
  BatchNorm2d bn1;
  std::shared_ptr<ReLU> relu;
  std::vector<std::shared_ptr<Chain>> stages;
  torch::nn::Linear linear{nullptr};
};

template <int Blocks>
std::shared_ptr<ZooNet> make_cifar_resnet(const ZooOptions& options) {
  return std::make_shared<CifarResNet>(Blocks, options);
}

}  // namespace

QUENCH_REGISTER_ZOO("resnet20_cifar", "ResNet-20 for 32x32 images", {make_cifar_resnet<3>, 10, 3, 32, true})
QUENCH_REGISTER_ZOO("resnet32_cifar", "ResNet-32 for 32x32 images", {make_cifar_resnet<5>, 10, 3, 32, true})
QUENCH_REGISTER_ZOO("resnet44_cifar", "ResNet-44 for 32x32 images", {make_cifar_resnet<7>, 10, 3, 32, true})
QUENCH_REGISTER_ZOO("resnet56_cifar", "ResNet-56 for 32x32 images", {make_cifar_resnet<9>, 10, 3, 32, true})

}  // namespace quench

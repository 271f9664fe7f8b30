// ResNet-18, -34 and -50 as torchvision has them (He et al. 2015; in the bottleneck the 3x3 convolution
// carries the stride), and in the form for small images that OpenMMLab calls ResNet_CIFAR: it begins with a 3x3
// convolution and keeps the size.
#include <torch/nn/modules/linear.h>

#include <array>

#include "zoo/layers.h"

namespace quench {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;

struct BlockShape {
  std::int64_t in = 0, planes = 0, stride = 1;
};

std::shared_ptr<ConvBn> make_downsample(const BlockShape& shape, std::int64_t out) {
  if (shape.stride == 1 && shape.in == out) return nullptr;
  return std::make_shared<ConvBn>(ConvShape{.in = shape.in, .out = out, .stride = shape.stride}, Activation::kNone);
}

struct BasicBlock : ZooNet {
  static constexpr std::int64_t kExpansion = 1;

  explicit BasicBlock(const BlockShape& s)
      : conv1(register_module("conv1", make_conv({.in = s.in, .out = s.planes, .kernel = 3, .stride = s.stride}))),
        bn1(register_module("bn1", BatchNorm2d(s.planes))),
        conv2(register_module("conv2", make_conv({.in = s.planes, .out = s.planes, .kernel = 3}))),
        bn2(register_module("bn2", BatchNorm2d(s.planes))),
        relu(register_module("relu", std::make_shared<ReLU>())),
        add_relu(register_module("add_relu", std::make_shared<FloatFunctional>())),
        downsample(make_downsample(s, s.planes)) {
    if (downsample) register_module("downsample", downsample);
  }

  at::Tensor forward(at::Tensor x) override {
    at::Tensor y = relu->forward(bn1->forward(conv1->forward(x)));
    y = bn2->forward(conv2->forward(y));
    return add_relu->add_relu(y, downsample ? downsample->forward(x) : x);
  }

  FuseLists fusible() const override { return {{"conv1", "bn1", "relu"}, {"conv2", "bn2"}}; }

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  std::shared_ptr<ReLU> relu;
  std::shared_ptr<FloatFunctional> add_relu;
  std::shared_ptr<ConvBn> downsample;
};

struct Bottleneck : ZooNet {
  static constexpr std::int64_t kExpansion = 4;

  explicit Bottleneck(const BlockShape& s)
      : conv1(register_module("conv1", make_conv({.in = s.in, .out = s.planes}))),
        bn1(register_module("bn1", BatchNorm2d(s.planes))),
        conv2(register_module("conv2", make_conv({.in = s.planes, .out = s.planes, .kernel = 3, .stride = s.stride}))),
        bn2(register_module("bn2", BatchNorm2d(s.planes))),
        conv3(register_module("conv3", make_conv({.in = s.planes, .out = s.planes * kExpansion}))),
        bn3(register_module("bn3", BatchNorm2d(s.planes * kExpansion))),
        relu1(register_module("relu1", std::make_shared<ReLU>())),
        relu2(register_module("relu2", std::make_shared<ReLU>())),
        skip_add_relu(register_module("skip_add_relu", std::make_shared<FloatFunctional>())),
        downsample(make_downsample(s, s.planes * kExpansion)) {
    if (downsample) register_module("downsample", downsample);
  }

  at::Tensor forward(at::Tensor x) override {
    at::Tensor y = relu1->forward(bn1->forward(conv1->forward(x)));
    y = relu2->forward(bn2->forward(conv2->forward(y)));
    y = bn3->forward(conv3->forward(y));
    return skip_add_relu->add_relu(y, downsample ? downsample->forward(x) : x);
  }

  FuseLists fusible() const override {
    return {{"conv1", "bn1", "relu1"}, {"conv2", "bn2", "relu2"}, {"conv3", "bn3"}};
  }

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  Conv2d conv3;
  BatchNorm2d bn3;
  std::shared_ptr<ReLU> relu1, relu2;
  std::shared_ptr<FloatFunctional> skip_add_relu;
  std::shared_ptr<ConvBn> downsample;
};

using BlockCounts = std::array<int, 4>;

enum class Images { kLarge, kSmall };

ConvShape first_shape(Images images, std::int64_t channels) {
  if (images == Images::kSmall) return {.in = channels, .out = 64, .kernel = 3};
  return {.in = channels, .out = 64, .kernel = 7, .stride = 2};
}

template <typename Block>
struct ResNet : StubbedNet {
  ResNet(const BlockCounts& counts, Images images, const ZooOptions& options)
      : StubbedNet(options.quantizable),
        shrinks(images == Images::kLarge),
        conv1(register_module("conv1", make_conv(first_shape(images, options.in_channels)))),
        bn1(register_module("bn1", BatchNorm2d(64))),
        relu(register_module("relu", std::make_shared<ReLU>())) {
    std::int64_t channels = 64;
    for (std::size_t stage = 0; stage < counts.size(); ++stage) {
      const std::int64_t planes = 64 << stage;
      auto layer = register_module("layer" + std::to_string(stage + 1), std::make_shared<Chain>());
      for (int block = 0; block < counts[stage]; ++block) {
        const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
        layer->push_back(std::make_shared<Block>(BlockShape{channels, planes, stride}));
        channels = planes * Block::kExpansion;
      }
      stages.push_back(layer);
    }
    fc = register_module("fc", torch::nn::Linear(channels, options.num_classes));
    init_convolutions(*this, Fan::kOut);
  }

  FuseLists fusible() const override { return {{"conv1", "bn1", "relu"}}; }

  at::Tensor body(at::Tensor x) override {
    x = relu->forward(bn1->forward(conv1->forward(x)));
    if (shrinks) x = at::max_pool2d(x, 3, 2, 1);
    for (const auto& stage : stages) x = stage->forward(x);
    return fc->forward(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1));
  }

  const bool shrinks;
  Conv2d conv1;
  BatchNorm2d bn1;
  std::shared_ptr<ReLU> relu;
  std::vector<std::shared_ptr<Chain>> stages;
  torch::nn::Linear fc{nullptr};
};

template <Images images>
std::shared_ptr<ZooNet> make_resnet18(const ZooOptions& options) {
  return std::make_shared<ResNet<BasicBlock>>(BlockCounts{2, 2, 2, 2}, images, options);
}

template <Images images>
std::shared_ptr<ZooNet> make_resnet34(const ZooOptions& options) {
  return std::make_shared<ResNet<BasicBlock>>(BlockCounts{3, 4, 6, 3}, images, options);
}

template <Images images>
std::shared_ptr<ZooNet> make_resnet50(const ZooOptions& options) {
  return std::make_shared<ResNet<Bottleneck>>(BlockCounts{3, 4, 6, 3}, images, options);
}

}  // namespace

QUENCH_REGISTER_ZOO("resnet18", "ResNet-18 for 224x224 images", {make_resnet18<Images::kLarge>, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("resnet34", "ResNet-34 for 224x224 images", {make_resnet34<Images::kLarge>, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("resnet50", "ResNet-50 for 224x224 images", {make_resnet50<Images::kLarge>, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("resnet18_cifar", "ResNet-18 for 32x32 images", {make_resnet18<Images::kSmall>, 10, 3, 32, true})
QUENCH_REGISTER_ZOO("resnet34_cifar", "ResNet-34 for 32x32 images", {make_resnet34<Images::kSmall>, 10, 3, 32, true})
QUENCH_REGISTER_ZOO("resnet50_cifar", "ResNet-50 for 32x32 images", {make_resnet50<Images::kSmall>, 10, 3, 32, true})

}  // namespace quench

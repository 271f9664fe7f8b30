// MobileNetV2 (Sandler et al. 2018) as torchvision has it: inverted residuals with depthwise
// convolutions, ReLU6, no activation after the projection.
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "zoo/layers.h"

namespace quench {
namespace {

struct InvertedShape {
  std::int64_t in = 0, out = 0, stride = 1, expand = 1;
};

// The submodule "conv" of an inverted residual: [expansion,] depthwise, projection, its BatchNorm. The
// numbers in the names shift by one where there is no expansion.
struct InvertedBody : ZooNet {
  explicit InvertedBody(const InvertedShape& s) {
    const std::int64_t hidden = s.in * s.expand;
    int next = 0;
    const auto name = [&next] { return std::to_string(next++); };
    if (s.expand != 1)
      expansion =
          register_module(name(), std::make_shared<ConvBn>(ConvShape{.in = s.in, .out = hidden}, Activation::kRelu6));
    const ConvShape depthwise_shape{.in = hidden, .out = hidden, .kernel = 3, .stride = s.stride, .groups = hidden};
    depthwise = register_module(name(), std::make_shared<ConvBn>(depthwise_shape, Activation::kRelu6));
    projection = register_module(name(), make_conv({.in = hidden, .out = s.out}));
    norm = register_module(name(), torch::nn::BatchNorm2d(s.out));
    projection_and_norm = {std::to_string(next - 2), std::to_string(next - 1)};
  }

  at::Tensor forward(at::Tensor x) override {
    if (expansion) x = expansion->forward(x);
    return norm->forward(projection->forward(depthwise->forward(x)));
  }

  FuseLists fusible() const override { return {projection_and_norm}; }

  std::shared_ptr<ConvBn> expansion, depthwise;
  torch::nn::Conv2d projection{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  std::vector<std::string> projection_and_norm;
};

struct InvertedResidual : ZooNet {
  explicit InvertedResidual(const InvertedShape& s)
      : conv(register_module("conv", std::make_shared<InvertedBody>(s))),
        skip_add(register_module("skip_add", std::make_shared<FloatFunctional>())),
        has_shortcut(s.stride == 1 && s.in == s.out) {}

  at::Tensor forward(at::Tensor x) override {
    const at::Tensor y = conv->forward(x);
    return has_shortcut ? skip_add->add(x, y) : y;
  }

  std::shared_ptr<InvertedBody> conv;
  std::shared_ptr<FloatFunctional> skip_add;
  bool has_shortcut;
};

// One row of table 2 of the paper.
struct Stage {
  std::int64_t expand, channels, repeats, stride;
};
constexpr std::array<Stage, 7> kStages = {
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
constexpr std::int64_t kFirstChannels = 32, kLastChannels = 1280;

struct Classifier : ZooNet {
  explicit Classifier(std::int64_t classes)
      : dropout(register_module("0", torch::nn::Dropout(0.2))),
        linear(register_module("1", torch::nn::Linear(kLastChannels, classes))) {
    torch::nn::init::normal_(linear->weight, 0, 0.01);
    torch::nn::init::zeros_(linear->bias);
  }
  at::Tensor forward(at::Tensor x) override { return linear->forward(dropout->forward(x)); }

  torch::nn::Dropout dropout;
  torch::nn::Linear linear;
};

struct MobileNetV2 : StubbedNet {
  explicit MobileNetV2(const ZooOptions& options)
      : StubbedNet(options.quantizable),
        features(register_module("features", std::make_shared<Chain>())),
        classifier(register_module("classifier", std::make_shared<Classifier>(options.num_classes))) {
    const ConvShape first{.in = options.in_channels, .out = kFirstChannels, .kernel = 3, .stride = 2};
    features->push_back(std::make_shared<ConvBn>(first, Activation::kRelu6));
    std::int64_t channels = kFirstChannels;
    for (const Stage& stage : kStages) {
      for (std::int64_t i = 0; i < stage.repeats; ++i) {
        const std::int64_t stride = i == 0 ? stage.stride : 1;
        features->push_back(
            std::make_shared<InvertedResidual>(InvertedShape{channels, stage.channels, stride, stage.expand}));
        channels = stage.channels;
      }
    }
    features->push_back(std::make_shared<ConvBn>(ConvShape{.in = channels, .out = kLastChannels}, Activation::kRelu6));
    init_convolutions(*this, Fan::kOut);
  }

  at::Tensor body(at::Tensor x) override {
    x = at::adaptive_avg_pool2d(features->forward(x), {1, 1});
    return classifier->forward(at::flatten(x, 1));
  }

  std::shared_ptr<Chain> features;
  std::shared_ptr<Classifier> classifier;
};

std::shared_ptr<ZooNet> make_mobilenet_v2(const ZooOptions& options) { return std::make_shared<MobileNetV2>(options); }

}  // namespace

QUENCH_REGISTER_ZOO("mobilenet_v2", "MobileNetV2 for 224x224 images", {make_mobilenet_v2, 1000, 3, 224, true})

}  // namespace quench

// MobileNetV3 (Howard et al. 2019) as torchvision has it: inverted residuals, some with squeeze-and-excitation, and
// hardswish in the deeper half.
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "zoo/layers.h"

namespace quench {
namespace {

constexpr NormOptions kNorm = {.eps = 1e-3, .momentum = 0.01};

std::shared_ptr<ConvBn> conv_bn(const ConvShape& shape, Activation activation) {
  return std::make_shared<ConvBn>(shape, activation, kNorm);
}

struct Hardsigmoid : ZooNet {
  at::Tensor forward(at::Tensor x) override { return at::hardsigmoid(x); }
};

struct SqueezeExcitation : ZooNet {
  SqueezeExcitation(std::int64_t channels, std::int64_t squeezed)
      : fc1(register_module("fc1", make_conv({.in = channels, .out = squeezed, .bias = true}))),
        fc2(register_module("fc2", make_conv({.in = squeezed, .out = channels, .bias = true}))),
        activation(register_module("activation", std::make_shared<ReLU>())),
        scale_activation(register_module("scale_activation", std::make_shared<Hardsigmoid>())),
        skip_mul(register_module("skip_mul", std::make_shared<FloatFunctional>())) {}

  at::Tensor forward(at::Tensor x) override {
    const at::Tensor mean = at::adaptive_avg_pool2d(x, {1, 1});
    const at::Tensor scale = scale_activation->forward(fc2->forward(activation->forward(fc1->forward(mean))));
    return skip_mul->mul(scale, x);
  }
  FuseLists fusible() const override { return {{"fc1", "activation"}}; }

  torch::nn::Conv2d fc1, fc2;
  std::shared_ptr<ReLU> activation;
  std::shared_ptr<Hardsigmoid> scale_activation;
  std::shared_ptr<FloatFunctional> skip_mul;
};

// A quarter of the channels, to a multiple of 8 that is not more than a tenth smaller.
std::int64_t squeezed_channels(std::int64_t channels) {
  const std::int64_t quarter = channels / 4, rounded = std::max<std::int64_t>(8, (quarter + 4) / 8 * 8);
  return rounded * 10 < quarter * 9 ? rounded + 8 : rounded;
}

// One row of tables 1 and 2 of the paper.
struct Row {
  std::int64_t kernel, expanded, out;
  bool squeeze;
  Activation activation;
  std::int64_t stride;
};

struct MobileBlock : ZooNet {
  MobileBlock(std::int64_t in, const Row& row)
      : block(register_module("block", std::make_shared<Chain>())),
        skip_add(register_module("skip_add", std::make_shared<FloatFunctional>())),
        has_shortcut(row.stride == 1 && in == row.out) {
    if (row.expanded != in) block->push_back(conv_bn({.in = in, .out = row.expanded}, row.activation));
    const ConvShape depthwise{
        .in = row.expanded, .out = row.expanded, .kernel = row.kernel, .stride = row.stride, .groups = row.expanded};
    block->push_back(conv_bn(depthwise, row.activation));
    if (row.squeeze)
      block->push_back(std::make_shared<SqueezeExcitation>(row.expanded, squeezed_channels(row.expanded)));
    block->push_back(conv_bn({.in = row.expanded, .out = row.out}, Activation::kNone));
  }

  at::Tensor forward(at::Tensor x) override {
    const at::Tensor y = block->forward(x);
    return has_shortcut ? skip_add->add(x, y) : y;
  }

  std::shared_ptr<Chain> block;
  std::shared_ptr<FloatFunctional> skip_add;
  bool has_shortcut;
};

struct Classifier : ZooNet {
  Classifier(std::int64_t in, std::int64_t hidden, std::int64_t classes)
      : first(register_module("0", torch::nn::Linear(in, hidden))),
        hardswish(register_module("1", std::make_shared<Hardswish>())),
        dropout(register_module("2", torch::nn::Dropout(0.2))),
        last(register_module("3", torch::nn::Linear(hidden, classes))) {
    for (torch::nn::Linear& linear : {std::ref(first), std::ref(last)}) {
      torch::nn::init::normal_(linear->weight, 0, 0.01);
      torch::nn::init::zeros_(linear->bias);
    }
  }
  at::Tensor forward(at::Tensor x) override {
    return last->forward(dropout->forward(hardswish->forward(first->forward(x))));
  }

  torch::nn::Linear first;
  std::shared_ptr<Hardswish> hardswish;
  torch::nn::Dropout dropout;
  torch::nn::Linear last;
};

struct MobileNetV3 : StubbedNet {
  MobileNetV3(const std::vector<Row>& rows, std::int64_t hidden, const ZooOptions& options)
      : StubbedNet(options.quantizable), features(register_module("features", std::make_shared<Chain>())) {
    std::int64_t channels = 16;
    features->push_back(
        conv_bn({.in = options.in_channels, .out = channels, .kernel = 3, .stride = 2}, Activation::kHardswish));
    for (const Row& row : rows) {
      features->push_back(std::make_shared<MobileBlock>(channels, row));
      channels = row.out;
    }
    features->push_back(conv_bn({.in = channels, .out = 6 * channels}, Activation::kHardswish));
    classifier = register_module("classifier", std::make_shared<Classifier>(6 * channels, hidden, options.num_classes));
    init_convolutions(*this, Fan::kOut);
  }

  at::Tensor body(at::Tensor x) override {
    x = at::adaptive_avg_pool2d(features->forward(x), {1, 1});
    return classifier->forward(at::flatten(x, 1));
  }

  std::shared_ptr<Chain> features;
  std::shared_ptr<Classifier> classifier;
};

constexpr Activation kRe = Activation::kRelu, kHs = Activation::kHardswish;

std::shared_ptr<ZooNet> make_large(const ZooOptions& options) {
  const std::vector<Row> rows = {{3, 16, 16, false, kRe, 1},  {3, 64, 24, false, kRe, 2},  {3, 72, 24, false, kRe, 1},
                                 {5, 72, 40, true, kRe, 2},   {5, 120, 40, true, kRe, 1},  {5, 120, 40, true, kRe, 1},
                                 {3, 240, 80, false, kHs, 2}, {3, 200, 80, false, kHs, 1}, {3, 184, 80, false, kHs, 1},
                                 {3, 184, 80, false, kHs, 1}, {3, 480, 112, true, kHs, 1}, {3, 672, 112, true, kHs, 1},
                                 {5, 672, 160, true, kHs, 2}, {5, 960, 160, true, kHs, 1}, {5, 960, 160, true, kHs, 1}};
  return std::make_shared<MobileNetV3>(rows, 1280, options);
}

std::shared_ptr<ZooNet> make_small(const ZooOptions& options) {
  const std::vector<Row> rows = {{3, 16, 16, true, kRe, 2},  {3, 72, 24, false, kRe, 2}, {3, 88, 24, false, kRe, 1},
                                 {5, 96, 40, true, kHs, 2},  {5, 240, 40, true, kHs, 1}, {5, 240, 40, true, kHs, 1},
                                 {5, 120, 48, true, kHs, 1}, {5, 144, 48, true, kHs, 1}, {5, 288, 96, true, kHs, 2},
                                 {5, 576, 96, true, kHs, 1}, {5, 576, 96, true, kHs, 1}};
  return std::make_shared<MobileNetV3>(rows, 1024, options);
}

}  // namespace

QUENCH_REGISTER_ZOO("mobilenet_v3_large", "MobileNetV3 (large) for 224x224 images", {make_large, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("mobilenet_v3_small", "MobileNetV3 (small) for 224x224 images", {make_small, 1000, 3, 224, true})

}  // namespace quench

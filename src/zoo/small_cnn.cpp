// A small CNN for 28x28 grey images, the network of the demo. It has in small what makes quantization
// interesting: a residual add of each kind of branch, depthwise convolutions, BatchNorm everywhere.
#include <torch/nn/modules/linear.h>

#include "zoo/layers.h"

namespace quench {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;

struct ResidualBlock : ZooNet {
  explicit ResidualBlock(std::int64_t channels)
      : conv1(register_module("conv1", make_conv({.in = channels, .out = channels, .kernel = 3}))),
        bn1(register_module("bn1", BatchNorm2d(channels))),
        conv2(register_module("conv2", make_conv({.in = channels, .out = channels, .kernel = 3}))),
        bn2(register_module("bn2", BatchNorm2d(channels))),
        relu(register_module("relu", std::make_shared<ReLU>())),
        add_relu(register_module("add_relu", std::make_shared<FloatFunctional>())) {}

  at::Tensor forward(at::Tensor x) override {
    const at::Tensor y = relu->forward(bn1->forward(conv1->forward(x)));
    return add_relu->add_relu(bn2->forward(conv2->forward(y)), x);
  }

  FuseLists fusible() const override { return {{"conv1", "bn1", "relu"}, {"conv2", "bn2"}}; }

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  std::shared_ptr<ReLU> relu;
  std::shared_ptr<FloatFunctional> add_relu;
};

struct SeparableBlock : ZooNet {
  SeparableBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : depthwise(register_module("depthwise",
                                  make_conv({.in = in, .out = in, .kernel = 3, .stride = stride, .groups = in}))),
        bn1(register_module("bn1", BatchNorm2d(in))),
        pointwise(register_module("pointwise", make_conv({.in = in, .out = out}))),
        bn2(register_module("bn2", BatchNorm2d(out))),
        relu1(register_module("relu1", std::make_shared<ReLU>())),
        relu2(register_module("relu2", std::make_shared<ReLU>())) {}

  at::Tensor forward(at::Tensor x) override {
    x = relu1->forward(bn1->forward(depthwise->forward(x)));
    return relu2->forward(bn2->forward(pointwise->forward(x)));
  }

  FuseLists fusible() const override { return {{"depthwise", "bn1", "relu1"}, {"pointwise", "bn2", "relu2"}}; }

  Conv2d depthwise;
  BatchNorm2d bn1;
  Conv2d pointwise;
  BatchNorm2d bn2;
  std::shared_ptr<ReLU> relu1, relu2;
};

struct SmallCnn : StubbedNet {
  explicit SmallCnn(const ZooOptions& options)
      : StubbedNet(options.quantizable),
        stem(register_module(
            "stem",
            std::make_shared<ConvBn>(ConvShape{.in = options.in_channels, .out = 16, .kernel = 3}, Activation::kRelu))),
        down(register_module("down", std::make_shared<ConvBn>(ConvShape{.in = 16, .out = 32, .kernel = 3, .stride = 2},
                                                              Activation::kRelu))),
        block1(register_module("block1", std::make_shared<ResidualBlock>(32))),
        separable1(register_module("separable1", std::make_shared<SeparableBlock>(32, 64, 2))),
        block2(register_module("block2", std::make_shared<ResidualBlock>(64))),
        separable2(register_module("separable2", std::make_shared<SeparableBlock>(64, 128, 1))),
        fc(register_module("fc", torch::nn::Linear(128, options.num_classes))) {
    init_convolutions(*this, Fan::kOut);
  }

  at::Tensor body(at::Tensor x) override {
    x = block1->forward(down->forward(stem->forward(x)));
    x = block2->forward(separable1->forward(x));
    x = at::adaptive_avg_pool2d(separable2->forward(x), {1, 1});
    return fc->forward(at::flatten(x, 1));
  }

  std::shared_ptr<ConvBn> stem, down;
  std::shared_ptr<ResidualBlock> block1;
  std::shared_ptr<SeparableBlock> separable1;
  std::shared_ptr<ResidualBlock> block2;
  std::shared_ptr<SeparableBlock> separable2;
  torch::nn::Linear fc;
};

std::shared_ptr<ZooNet> make_small_cnn(const ZooOptions& options) { return std::make_shared<SmallCnn>(options); }

}  // namespace

QUENCH_REGISTER_ZOO("small_cnn", "a small CNN for 28x28 grey images (the demo's)", {make_small_cnn, 10, 1, 28, true})

}  // namespace quench

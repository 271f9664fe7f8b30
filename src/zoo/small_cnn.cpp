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
        bn2(register_module("bn2", BatchNorm2d(channels))) {}

  at::Tensor forward(at::Tensor x) override {
    const at::Tensor y = at::relu(bn1->forward(conv1->forward(x)));
    return at::relu(bn2->forward(conv2->forward(y)) + x);
  }

  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
};

struct SeparableBlock : ZooNet {
  SeparableBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : depthwise(register_module("depthwise",
                                  make_conv({.in = in, .out = in, .kernel = 3, .stride = stride, .groups = in}))),
        bn1(register_module("bn1", BatchNorm2d(in))),
        pointwise(register_module("pointwise", make_conv({.in = in, .out = out}))),
        bn2(register_module("bn2", BatchNorm2d(out))) {}

  at::Tensor forward(at::Tensor x) override {
    x = at::relu(bn1->forward(depthwise->forward(x)));
    return at::relu(bn2->forward(pointwise->forward(x)));
  }

  Conv2d depthwise;
  BatchNorm2d bn1;
  Conv2d pointwise;
  BatchNorm2d bn2;
};

struct SmallCnn : ZooNet {
  explicit SmallCnn(const ZooOptions& options)
      : stem(register_module(
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

  at::Tensor forward(at::Tensor x) override {
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

QUENCH_REGISTER_ZOO("small_cnn", "a small CNN for 28x28 grey images (the demo's)", {make_small_cnn, 10, 1, 28})

}  // namespace quench

// GoogLeNet (Szegedy et al. 2014) as torchvision has it: with BatchNorm, a 3x3 convolution where the paper has 5x5, and
// without the auxiliary classifiers, which matter for training alone: aux1 and aux2 of torchvision's file are ignored.
// Its weights expect images normalised to mean 0.5 and deviation 0.5.
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "zoo/layers.h"

namespace quench {
namespace {

constexpr double kNormEps = 1e-3, kFirstDeviation = 0.01;

struct BasicConv : ZooNet {
  explicit BasicConv(const ConvShape& shape)
      : conv(register_module("conv", make_conv(shape))),
        bn(register_module("bn", torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(shape.out).eps(kNormEps)))),
        relu(register_module("relu", std::make_shared<ReLU>())) {}

  at::Tensor forward(at::Tensor x) override { return relu->forward(bn->forward(conv->forward(x))); }
  FuseLists fusible() const override { return {{"conv", "bn", "relu"}}; }

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d bn;
  std::shared_ptr<ReLU> relu;
};

std::shared_ptr<BasicConv> basic_conv(std::int64_t in, std::int64_t out, std::int64_t kernel = 1,
                                      std::int64_t stride = 1) {
  return std::make_shared<BasicConv>(ConvShape{.in = in, .out = out, .kernel = kernel, .stride = stride});
}

struct MaxPool : ZooNet {
  MaxPool(std::int64_t k, std::int64_t s, std::int64_t p) : kernel(k), stride(s), padding(p) {}
  at::Tensor forward(at::Tensor x) override {
    return at::max_pool2d(x, kernel, stride, padding, /*dilation=*/1, /*ceil_mode=*/true);
  }
  std::int64_t kernel, stride, padding;
};

// One row of table 1 of the paper.
struct InceptionShape {
  const char* name;
  std::int64_t in, one, reduce3, three, reduce5, five, pool;
};

struct Inception : ZooNet {
  explicit Inception(const InceptionShape& s)
      : branch1(register_module("branch1", basic_conv(s.in, s.one))),
        branch2(register_module("branch2", std::make_shared<Chain>())),
        branch3(register_module("branch3", std::make_shared<Chain>())),
        branch4(register_module("branch4", std::make_shared<Chain>())),
        cat(register_module("cat", std::make_shared<FloatFunctional>())) {
    branch2->push_back(basic_conv(s.in, s.reduce3));
    branch2->push_back(basic_conv(s.reduce3, s.three, 3));
    branch3->push_back(basic_conv(s.in, s.reduce5));
    branch3->push_back(basic_conv(s.reduce5, s.five, 3));
    branch4->push_back(std::make_shared<MaxPool>(3, 1, 1));
    branch4->push_back(basic_conv(s.in, s.pool));
  }

  at::Tensor forward(at::Tensor x) override {
    return cat->cat({branch1->forward(x), branch2->forward(x), branch3->forward(x), branch4->forward(x)}, 1);
  }

  std::shared_ptr<BasicConv> branch1;
  std::shared_ptr<Chain> branch2, branch3, branch4;
  std::shared_ptr<FloatFunctional> cat;
};

const std::vector<InceptionShape>& inceptions() {
  static const std::vector<InceptionShape> rows = {
      {"3a", 192, 64, 96, 128, 16, 32, 32},     {"3b", 256, 128, 128, 192, 32, 96, 64},
      {"4a", 480, 192, 96, 208, 16, 48, 64},    {"4b", 512, 160, 112, 224, 24, 64, 64},
      {"4c", 512, 128, 128, 256, 24, 64, 64},   {"4d", 512, 112, 144, 288, 32, 64, 64},
      {"4e", 528, 256, 160, 320, 32, 128, 128}, {"5a", 832, 256, 160, 320, 32, 128, 128},
      {"5b", 832, 384, 192, 384, 48, 128, 128},
  };
  return rows;
}
constexpr std::int64_t kLastChannels = 1024;

struct GoogLeNet : StubbedNet {
  explicit GoogLeNet(const ZooOptions& options)
      : StubbedNet(options.quantizable),
        conv1(register_module("conv1", basic_conv(options.in_channels, 64, 7, 2))),
        conv2(register_module("conv2", basic_conv(64, 64))),
        conv3(register_module("conv3", basic_conv(64, 192, 3))) {
    for (const InceptionShape& row : inceptions()) {
      blocks.push_back(register_module(concat("inception", row.name), std::make_shared<Inception>(row)));
      // The image is halved behind the last block of stages 3 and 4.
      const std::string name = row.name;
      if (name == "3b") blocks.push_back(register_module("maxpool3", std::make_shared<MaxPool>(3, 2, 0)));
      if (name == "4e") blocks.push_back(register_module("maxpool4", std::make_shared<MaxPool>(2, 2, 0)));
    }
    dropout = register_module("dropout", torch::nn::Dropout(0.2));
    fc = register_module("fc", torch::nn::Linear(kLastChannels, options.num_classes));
    init_weights();
  }

  void init_weights() {
    for (const auto& module : modules(/*include_self=*/false))
      if (auto* conv = module->as<torch::nn::Conv2d>()) torch::nn::init::normal_(conv->weight, 0, kFirstDeviation);
    torch::nn::init::normal_(fc->weight, 0, kFirstDeviation);
  }

  at::Tensor body(at::Tensor x) override {
    x = conv2->forward(first_pool.forward(conv1->forward(x)));
    x = first_pool.forward(conv3->forward(x));
    for (const auto& block : blocks) x = block->forward(x);
    return fc->forward(dropout->forward(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1)));
  }

  std::shared_ptr<BasicConv> conv1, conv2, conv3;
  MaxPool first_pool{3, 2, 0};
  std::vector<std::shared_ptr<ZooNet>> blocks;
  torch::nn::Dropout dropout{nullptr};
  torch::nn::Linear fc{nullptr};
};

std::shared_ptr<ZooNet> make_googlenet(const ZooOptions& options) { return std::make_shared<GoogLeNet>(options); }

}  // namespace

QUENCH_REGISTER_ZOO("googlenet", "GoogLeNet with BatchNorm for 224x224 images, without auxiliary classifiers",
                    {make_googlenet, 1000, 3, 224, true, {"aux1", "aux2"}})

}  // namespace quench

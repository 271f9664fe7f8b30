// ShuffleNetV2 (Ma et al. 2018) as torchvision has it: half of the channels pass by, the other half is convolved, and
// the two are shuffled.
#include <torch/nn/modules/linear.h>

#include <array>

#include "zoo/layers.h"

namespace quench {
namespace {

// Convolutions with BatchNorm, some with ReLU, numbered through as in one nn.Sequential.
struct Branch : ZooNet {
  void add(const ConvShape& shape, bool with_relu) {
    std::vector<std::string> names = {next_name()};
    Step step{register_module(names.back(), make_conv(shape)), nullptr, nullptr};
    names.push_back(next_name());
    step.norm = register_module(names.back(), torch::nn::BatchNorm2d(shape.out));
    if (with_relu) {
      names.push_back(next_name());
      step.relu = register_module(names.back(), std::make_shared<ReLU>());
    }
    steps.push_back(step);
    lists.push_back(names);
  }

  at::Tensor forward(at::Tensor x) override {
    for (Step& step : steps) {
      x = step.norm->forward(step.conv->forward(x));
      if (step.relu) x = step.relu->forward(x);
    }
    return x;
  }
  FuseLists fusible() const override { return lists; }

  struct Step {
    torch::nn::Conv2d conv;
    torch::nn::BatchNorm2d norm;
    std::shared_ptr<ReLU> relu;
  };
  std::vector<Step> steps;
  FuseLists lists;

 private:
  std::string next_name() { return std::to_string(count_++); }
  int count_ = 0;
};

at::Tensor shuffle_channels(const at::Tensor& x) {
  constexpr std::int64_t kGroups = 2;
  const at::Tensor groups = x.view({x.size(0), kGroups, x.size(1) / kGroups, x.size(2), x.size(3)});
  return groups.transpose(1, 2).contiguous().view({x.size(0), x.size(1), x.size(2), x.size(3)});
}

struct ShuffleBlock : ZooNet {
  ShuffleBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : branch1(register_module("branch1", std::make_shared<Branch>())),
        branch2(register_module("branch2", std::make_shared<Branch>())),
        cat(register_module("cat", std::make_shared<FloatFunctional>())),
        halves(stride == 1) {
    const std::int64_t half = out / 2;
    if (!halves) {
      branch1->add({.in = in, .out = in, .kernel = 3, .stride = stride, .groups = in}, false);
      branch1->add({.in = in, .out = half}, true);
    }
    branch2->add({.in = halves ? half : in, .out = half}, true);
    branch2->add({.in = half, .out = half, .kernel = 3, .stride = stride, .groups = half}, false);
    branch2->add({.in = half, .out = half}, true);
  }

  at::Tensor forward(at::Tensor x) override {
    if (!halves) return shuffle_channels(cat->cat({branch1->forward(x), branch2->forward(x)}, 1));
    const std::vector<at::Tensor> parts = x.chunk(2, 1);
    return shuffle_channels(cat->cat({parts[0], branch2->forward(parts[1])}, 1));
  }

  std::shared_ptr<Branch> branch1, branch2;
  std::shared_ptr<FloatFunctional> cat;
  bool halves;  // one half of the channels passes by
};

using Channels = std::array<std::int64_t, 5>;  // of the first layer, the three stages and the last layer
constexpr std::array<int, 3> kRepeats = {4, 8, 4};

struct ShuffleNetV2 : StubbedNet {
  ShuffleNetV2(const Channels& channels, const ZooOptions& options)
      : StubbedNet(options.quantizable),
        conv1(register_module(
            "conv1",
            std::make_shared<ConvBn>(ConvShape{.in = options.in_channels, .out = channels[0], .kernel = 3, .stride = 2},
                                     Activation::kRelu))) {
    for (std::size_t stage = 0; stage < kRepeats.size(); ++stage) {
      const std::int64_t in = channels[stage], out = channels[stage + 1];
      auto layer = register_module(concat("stage", stage + 2), std::make_shared<Chain>());
      for (int i = 0; i < kRepeats[stage]; ++i)
        layer->push_back(i == 0 ? std::make_shared<ShuffleBlock>(in, out, 2)
                                : std::make_shared<ShuffleBlock>(out, out, 1));
      stages.push_back(layer);
    }
    conv5 = register_module(
        "conv5", std::make_shared<ConvBn>(ConvShape{.in = channels[3], .out = channels[4]}, Activation::kRelu));
    fc = register_module("fc", torch::nn::Linear(channels[4], options.num_classes));
  }

  at::Tensor body(at::Tensor x) override {
    x = at::max_pool2d(conv1->forward(x), 3, 2, 1);
    for (const auto& stage : stages) x = stage->forward(x);
    return fc->forward(conv5->forward(x).mean({2, 3}));
  }

  std::shared_ptr<ConvBn> conv1;
  std::vector<std::shared_ptr<Chain>> stages;
  std::shared_ptr<ConvBn> conv5;
  torch::nn::Linear fc{nullptr};
};

template <std::int64_t... C>
std::shared_ptr<ZooNet> make_shufflenet_v2(const ZooOptions& options) {
  return std::make_shared<ShuffleNetV2>(Channels{C...}, options);
}

constexpr auto kX05 = make_shufflenet_v2<24, 48, 96, 192, 1024>;
constexpr auto kX10 = make_shufflenet_v2<24, 116, 232, 464, 1024>;
constexpr auto kX15 = make_shufflenet_v2<24, 176, 352, 704, 1024>;
constexpr auto kX20 = make_shufflenet_v2<24, 244, 488, 976, 2048>;

}  // namespace

QUENCH_REGISTER_ZOO("shufflenet_v2_x0_5", "ShuffleNetV2 of half width for 224x224 images", {kX05, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("shufflenet_v2_x1_0", "ShuffleNetV2 for 224x224 images", {kX10, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("shufflenet_v2_x1_5", "ShuffleNetV2 of 1.5 times the width for 224x224 images",
                    {kX15, 1000, 3, 224, true})
QUENCH_REGISTER_ZOO("shufflenet_v2_x2_0", "ShuffleNetV2 of double width for 224x224 images", {kX20, 1000, 3, 224, true})

}  // namespace quench

// The pieces that several networks of the zoo are built from. Submodules are registered under the names
// that torchvision's nn.Sequential gives them: "0", "1", ...
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <vector>

#include "quench/zoo_net.h"

namespace quench {

struct ConvShape {
  std::int64_t in = 0, out = 0;
  std::int64_t kernel = 1, stride = 1;
  std::int64_t groups = 1;
};

// Padding keeps the size at stride 1; no bias, since a BatchNorm follows.
torch::nn::Conv2d make_conv(const ConvShape& shape);

enum class Activation : std::uint8_t { kNone, kRelu, kRelu6 };
at::Tensor activate(const at::Tensor& x, Activation activation);

// "0": convolution, "1": BatchNorm, then an activation.
struct ConvBn : ZooNet {
  ConvBn(const ConvShape& shape, Activation activation);
  at::Tensor forward(at::Tensor x) override;

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  Activation activation;
};

// Networks one after the other.
struct Chain : ZooNet {
  void push_back(std::shared_ptr<ZooNet> layer);
  at::Tensor forward(at::Tensor x) override;

  std::vector<std::shared_ptr<ZooNet>> layers;
};

// kaiming_normal_ for every convolution of `net` (BatchNorm starts as 1 and 0 by itself).
enum class Fan : std::uint8_t { kIn, kOut };
void init_convolutions(torch::nn::Module& net, Fan fan);

}  // namespace quench

// The pieces that several networks of the zoo are built from. Submodules are registered under the names
// that torchvision's nn.Sequential gives them: "0", "1", ...
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <vector>

#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {

struct ConvShape {
  std::int64_t in = 0, out = 0;
  std::int64_t kernel = 1, stride = 1;
  std::int64_t groups = 1;
  bool bias = false;  // mostly a BatchNorm follows
};

// Padding keeps the size at stride 1.
torch::nn::Conv2d make_conv(const ConvShape& shape);

// Modules of their own, since fuse_modules speaks of them by name.
struct ReLU : ZooNet {
  at::Tensor forward(at::Tensor x) override { return at::relu(x); }
};
struct ReLU6 : ZooNet {
  at::Tensor forward(at::Tensor x) override { return at::hardtanh(x, 0, 6); }
};
struct Hardswish : ZooNet {
  at::Tensor forward(at::Tensor x) override { return at::hardswish(x); }
};
enum class Activation : std::uint8_t { kNone, kRelu, kRelu6, kHardswish };

struct NormOptions {
  double eps = 1e-5, momentum = 0.1;
};

// "0": convolution, "1": BatchNorm, "2": an activation, if there is one.
struct ConvBn : ZooNet {
  ConvBn(const ConvShape& shape, Activation activation, const NormOptions& norm = {});
  at::Tensor forward(at::Tensor x) override;
  FuseLists fusible() const override;
  void replace_relu6();

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  std::shared_ptr<ZooNet> activation;  // null if there is none
};

// Networks one after the other.
struct Chain : ZooNet {
  void push_back(std::shared_ptr<ZooNet> layer);
  at::Tensor forward(at::Tensor x) override;

  std::vector<std::shared_ptr<ZooNet>> layers;
};

// A network of which torchvision has a quantizable form. That form is the same network between "quant" and "dequant";
// its FloatFunctionals compute what the float form does, so they are in both.
struct StubbedNet : ZooNet {
  explicit StubbedNet(bool quantizable);
  at::Tensor forward(at::Tensor x) final;

 protected:
  virtual at::Tensor body(at::Tensor x) = 0;

 private:
  std::shared_ptr<QuantStub> quant_;  // null in the float form
  std::shared_ptr<DeQuantStub> dequant_;
};

// kaiming_normal_ for every convolution of `net`, its bias zero (BatchNorm starts as 1 and 0 by itself).
enum class Fan : std::uint8_t { kIn, kOut };
void init_convolutions(torch::nn::Module& net, Fan fan);

}  // namespace quench

// The notebook's quantizable module with a classifier, and a step of training.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/optimizer.h>

#include "quench/qat.h"

namespace quench {

namespace nn = torch::nn;

// quant -> conv, bn, relu -> fc -> dequant.
struct Net : nn::Module {
  Net() {
    quant = register_module("quant", std::make_shared<QuantStub>());
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 4, 3).padding(1)));
    bn = register_module("bn", nn::BatchNorm2d(4));
    relu = register_module("relu", nn::ReLU());
    fc = register_module("fc", nn::Linear(4 * 16, 5));
    dequant = register_module("dequant", std::make_shared<DeQuantStub>());
  }
  at::Tensor forward(at::Tensor x) {
    x = relu(bn(conv(quant->forward(x))));
    return dequant->forward(fc(at::flatten(x, 1)));
  }
  std::shared_ptr<QuantStub> quant;
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d bn{nullptr};
  nn::ReLU relu{nullptr};
  nn::Linear fc{nullptr};
  std::shared_ptr<DeQuantStub> dequant;
};

inline std::shared_ptr<Net> make_net() {
  at::manual_seed(0);
  return std::make_shared<Net>();
}

inline at::Tensor images(std::int64_t count) { return at::randn({count, 2, 4, 4}); }

inline void step(QatModule& module, torch::optim::Optimizer& optimizer, const at::Tensor& x) {
  optimizer.zero_grad();
  const at::Tensor target = at::arange(x.size(0)).remainder(5);
  at::cross_entropy_loss(module.forward(x), target).backward();
  optimizer.step();
}

// All scales learn.
inline QConfig learning() {
  QConfig qconfig = get_default_qconfig("fbgemm");
  qconfig.activation.observer = "min_max";
  qconfig.weight.observer = "lsq";
  qconfig.activation.fake_quant = "lsq_plus";
  qconfig.weight.fake_quant = "lsq";
  return qconfig;
}

inline std::shared_ptr<QatModule> prepared(const std::shared_ptr<Net>& net, const QConfig& qconfig) {
  net->train();
  return prepare_qat(net, {images(1)}, qconfig);
}

}  // namespace quench

#include "zoo/layers.h"

#include <torch/nn/init.h>

namespace quench {
namespace {

std::shared_ptr<ZooNet> make_activation(Activation activation) {
  switch (activation) {
    case Activation::kNone: return nullptr;
    case Activation::kRelu: return std::make_shared<ReLU>();
    case Activation::kRelu6: return std::make_shared<ReLU6>();
    case Activation::kHardswish: return std::make_shared<Hardswish>();
  }
  return nullptr;
}

}  // namespace

torch::nn::Conv2d make_conv(const ConvShape& shape) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                               .stride(shape.stride)
                               .padding(shape.kernel / 2)
                               .groups(shape.groups)
                               .bias(shape.bias));
}

ConvBn::ConvBn(const ConvShape& shape, Activation a, const NormOptions& n)
    : conv(register_module("0", make_conv(shape))),
      norm(register_module(
          "1", torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(shape.out).eps(n.eps).momentum(n.momentum)))),
      activation(make_activation(a)) {
  if (activation) register_module("2", activation);
}

at::Tensor ConvBn::forward(at::Tensor x) {
  x = norm->forward(conv->forward(x));
  return activation ? activation->forward(x) : x;
}

FuseLists ConvBn::fusible() const {
  const bool fuses = activation && !activation->as<Hardswish>();
  return fuses ? FuseLists{{"0", "1", "2"}} : FuseLists{{"0", "1"}};
}

void ConvBn::replace_relu6() {
  if (!activation || !activation->as<ReLU6>()) return;
  activation = replace_module("2", make_activation(Activation::kRelu));
}

void replace_relu6(ZooNet& net) {
  for (const auto& module : net.modules(/*include_self=*/true))
    if (auto* layer = module->as<ConvBn>()) layer->replace_relu6();
}

void Chain::push_back(std::shared_ptr<ZooNet> layer) {
  layers.push_back(register_module(std::to_string(layers.size()), std::move(layer)));
}

at::Tensor Chain::forward(at::Tensor x) {
  for (const auto& layer : layers) x = layer->forward(x);
  return x;
}

StubbedNet::StubbedNet(bool quantizable) {
  if (!quantizable) return;
  quant_ = register_module("quant", std::make_shared<QuantStub>());
  dequant_ = register_module("dequant", std::make_shared<DeQuantStub>());
}

at::Tensor StubbedNet::forward(at::Tensor x) { return quant_ ? dequant_->forward(body(quant_->forward(x))) : body(x); }

void init_convolutions(torch::nn::Module& net, Fan fan) {
  for (const auto& module : net.modules(/*include_self=*/false)) {
    auto* conv = module->as<torch::nn::Conv2dImpl>();
    if (!conv) continue;
    if (fan == Fan::kOut) {
      torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
    } else {
      torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanIn, torch::kReLU);
    }
    if (conv->bias.defined()) torch::nn::init::zeros_(conv->bias);
  }
}

}  // namespace quench

#include "zoo/layers.h"

#include <torch/nn/init.h>

namespace quench {

torch::nn::Conv2d make_conv(const ConvShape& shape) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                               .stride(shape.stride)
                               .padding(shape.kernel / 2)
                               .groups(shape.groups)
                               .bias(false));
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return at::relu(x);
    case Activation::kRelu6: return at::hardtanh(x, 0, 6);
  }
  return x;
}

ConvBn::ConvBn(const ConvShape& shape, Activation a)
    : conv(register_module("0", make_conv(shape))),
      norm(register_module("1", torch::nn::BatchNorm2d(shape.out))),
      activation(a) {}

at::Tensor ConvBn::forward(at::Tensor x) { return activate(norm->forward(conv->forward(x)), activation); }

void Chain::push_back(std::shared_ptr<ZooNet> layer) {
  layers.push_back(register_module(std::to_string(layers.size()), std::move(layer)));
}

at::Tensor Chain::forward(at::Tensor x) {
  for (const auto& layer : layers) x = layer->forward(x);
  return x;
}

void init_convolutions(torch::nn::Module& net, Fan fan) {
  for (const auto& module : net.modules(/*include_self=*/false)) {
    auto* conv = module->as<torch::nn::Conv2dImpl>();
    if (!conv) continue;
    if (fan == Fan::kOut) {
      torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
    } else {
      torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanIn, torch::kReLU);
    }
  }
}

}  // namespace quench

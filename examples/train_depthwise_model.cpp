// A network that per-tensor quantization ruins: depthwise layers with ReLU6 between all of them, trained for a few
// epochs on CIFAR-10's data_batch_1. Long training spreads the ranges of such a network's channels; here factors of up
// to 64 are moved from each layer to the next, which changes nothing that it computes. docs/results.md shows what the
// corrections recover.
//   example_train_depthwise_model DATA OUT.onnx [EPOCHS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/nn/modules/linear.h>

#include <cstdio>
#include <string>

#include "quench/data.h"
#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/export.h"
#include "quench/torch.h"
#include "quench/train.h"
#include "zoo/layers.h"
#include "zoo/seeded_generator.h"

namespace quench {
namespace {

// The zoo's MobileNetV2 halves an image five times, which leaves one pixel of these: it does not train in a few epochs.
struct DepthwiseNet : ZooNet {
  DepthwiseNet() : features(register_module("features", std::make_shared<Chain>())) {
    add({.in = 3, .out = 24, .kernel = 3});
    add_separable(24, 48, 2);
    add_separable(48, 96, 1);
    add_separable(96, 96, 1);
    add_separable(96, 192, 2);
    add_separable(192, 192, 1);
    fc = register_module("fc", torch::nn::Linear(192, 10));
    init_convolutions(*this, Fan::kOut);
  }

  const std::vector<std::shared_ptr<ZooNet>>& layers() const { return features->layers; }

  at::Tensor forward(at::Tensor x) override {
    return fc->forward(at::flatten(at::adaptive_avg_pool2d(features->forward(x), {1, 1}), 1));
  }

 private:
  void add(const ConvShape& shape) { features->push_back(std::make_shared<ConvBn>(shape, Activation::kRelu6)); }
  void add_separable(std::int64_t in, std::int64_t out, std::int64_t stride) {
    add({.in = in, .out = in, .kernel = 3, .stride = stride, .groups = in});
    add({.in = in, .out = out});
  }

  std::shared_ptr<Chain> features;
  torch::nn::Linear fc{nullptr};
};

std::shared_ptr<DepthwiseNet> make_net() {
  const SeededGenerator seeded(0);  // the same weights in every run
  return std::make_shared<DepthwiseNet>();
}

// The greatest value of each channel in front of each ReLU6.
std::vector<at::Tensor> greatest(const DepthwiseNet& net, const Dataset& images) {
  std::vector<at::Tensor> tops(net.layers().size());
  Loader loader(images, {.batch_size = 256});
  while (const auto batch = loader.next()) {
    at::Tensor x = batch->inputs.tensor();
    for (std::size_t i = 0; i < tops.size(); ++i) {
      const auto layer = std::dynamic_pointer_cast<ConvBn>(net.layers()[i]);
      x = layer->norm->forward(layer->conv->forward(x));
      const at::Tensor top = x.amax({0, 2, 3});
      tops[i] = tops[i].defined() ? at::maximum(tops[i], top) : top;
      x = layer->activation->forward(x);
    }
  }
  return tops;
}

// Channels that no ReLU6 cuts on the images are divided by up to 64, and what reads them multiplied.
void spread_channels(const DepthwiseNet& net, const Dataset& images) {
  const at::NoGradGuard no_grad;
  const SeededGenerator seeded(1);
  const std::vector<at::Tensor> tops = greatest(net, images);
  for (std::size_t i = 0; i + 1 < tops.size(); ++i) {
    const auto layer = std::dynamic_pointer_cast<ConvBn>(net.layers()[i]);
    const auto next = std::dynamic_pointer_cast<ConvBn>(net.layers()[i + 1]);
    const at::Tensor factors = at::where(tops[i] < 6.0, at::pow(2.0, 6 * at::rand(tops[i].sizes())), 1.0);
    layer->norm->weight.div_(factors);
    layer->norm->bias.div_(factors);
    const bool depthwise = next->conv->options.groups() > 1;
    next->conv->weight.mul_(factors.reshape({depthwise ? -1 : 1, depthwise ? 1 : -1, 1, 1}));
  }
}

void print_accuracy(const char* when, const Graph& graph, const Dataset& data) {
  const EvalResult result = evaluate(graph, data);
  std::printf("%s: %lld of %lld images of data_batch_2 correct\n", when,
              static_cast<long long>(result.metric("top1").right.value()), static_cast<long long>(result.items));
}

int make_model(const std::string& data, const std::string& out, int epochs) {
  const auto images = open_dataset(concat("cifar10:", data, "/cifar10/data_batch_1.bin?norm=imagenet"));
  const auto others = open_dataset(concat("cifar10:", data, "/cifar10/data_batch_2.bin?norm=imagenet&limit=2000"));
  const std::shared_ptr<DepthwiseNet> net = make_net();
  net->eval();
  Graph graph = from_module(net, {at::zeros({1, 3, 32, 32})});  // its tensors are the network's own
  TrainOptions options;
  options.epochs = epochs;
  options.optimizer.lr = 0.1;
  options.optimizer.weight_decay = 5e-4;
  options.schedule.warmup_epochs = 0.5;
  options.augment = {.flip = true, .crop = 2};
  options.epoch_done = [](const TrainEpoch& one) {
    std::printf("epoch %d: loss %.4f, %.1f s\n", one.epoch, one.loss, one.seconds);
    std::fflush(stdout);
  };
  train_float(graph, {*images}, options);
  print_accuracy("trained", graph, *others);
  spread_channels(*net, *images);
  print_accuracy("spread", graph, *others);
  export_onnx(graph, out);
  return 0;
}

}  // namespace
}  // namespace quench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: example_train_depthwise_model DATA OUT.onnx [EPOCHS]\n");
    return 1;
  }
  try {
    at::set_num_threads(2);
    return quench::make_model(argv[1], argv[2], argc > 3 ? std::stoi(argv[3]) : 8);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_depthwise_model: %s\n", error.what());
    return 1;
  }
}

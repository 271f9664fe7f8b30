// A network that per-tensor quantization ruins: the zoo's MobileNetV2 (depthwise layers, ReLU6) trained for a few
// epochs on CIFAR-10's data_batch_1, written as ONNX. docs/results.md shows what the corrections recover.
//   example_train_depthwise_model DATA OUT.onnx [EPOCHS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdio>
#include <string>

#include "qat/float_train.h"
#include "quench/data.h"
#include "quench/error.h"
#include "quench/export.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

int train(const std::string& data, const std::string& out, int epochs) {
  const auto images = open_dataset(concat("cifar10:", data, "/cifar10/data_batch_1.bin?norm=imagenet"));
  const auto others = open_dataset(concat("cifar10:", data, "/cifar10/data_batch_2.bin?norm=imagenet&limit=2000"));
  const std::shared_ptr<ZooNet> net = make_zoo_model("mobilenet_v2", {.num_classes = 10});
  FloatTrainOptions options;
  options.epochs = epochs;
  options.shift = 2;
  options.flip = true;
  options.progress = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  train_float(*net, *images, nullptr, options);
  const Accuracy accuracy = evaluate_float(*net, *others);
  std::printf("data_batch_2: %lld of %lld correct\n", static_cast<long long>(accuracy.correct),
              static_cast<long long>(accuracy.images));
  export_onnx(from_module(net, {at::zeros({1, 3, 32, 32})}), out);
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
    return quench::train(argv[1], argv[2], argc > 3 ? std::stoi(argv[3]) : 6);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_depthwise_model: %s\n", error.what());
    return 1;
  }
}

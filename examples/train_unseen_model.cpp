// Trains a float ResNet-20 from nothing on CIFAR-10 images of one's choice, so that settings can be chosen on images
// that the network has never seen and that no table reports: the pretrained model knows the training images by heart,
// and how far a quantized network strays on those says little about new ones (docs/results.md, Learned rounding).
//
//   examples/cifar10_all all && mkdir seen && cp all/data_batch_[345].bin seen
//   build/release/example_train_unseen_model seen resnet20_345.onnx      # data_batch_1 and 2 are new to it
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "quench/error.h"
#include "quench/export.h"
#include "quench/torch.h"
#include "quench/train.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

struct Arguments {
  std::string images, model;
  TrainOptions train;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  TrainOptions& train = arguments.train;
  train.epochs = 40;
  train.optimizer.lr = 0.1;
  train.optimizer.weight_decay = 5e-4;
  train.schedule.warmup_epochs = 0.5;
  train.augment = {.flip = true, .crop = 4};
  CLI::App app("Trains a float ResNet-20 on CIFAR-10 images of one's choice.");
  app.add_option("images", arguments.images, "folder of data_batch_*.bin, or one such file")->required();
  app.add_option("model", arguments.model, "the ONNX file to write")->required();
  app.add_option("--epochs", train.epochs, "passes over the images")->capture_default_str();
  app.add_option("--seed", train.seed, "seed of weights, order and augmentation")->capture_default_str();
  app.add_option("--device", train.device, "cpu, cuda")->capture_default_str();
  app.add_flag("--bf16", train.bf16, "convolutions in bfloat16");
  int threads = 1;
  app.add_option("--threads", threads, "threads of LibTorch")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  at::set_num_threads(threads);
  return arguments;
}

int make(Arguments arguments) {
  const auto images = open_dataset(concat("cifar10:", arguments.images, "?norm=imagenet"));
  const auto net = make_zoo_model("resnet20_cifar", {.seed = arguments.train.seed});
  net->eval();
  Graph graph = from_module(net, {at::zeros({1, 3, 32, 32})}, {});
  arguments.train.epoch_done = [](const TrainEpoch& one) {
    std::printf("epoch %d: loss %.4f, %.1f s\n", one.epoch, one.loss, one.seconds);
    std::fflush(stdout);
  };
  train_float(graph, {*images}, arguments.train);
  export_onnx(graph, arguments.model);
  return 0;
}

}  // namespace
}  // namespace quench

int main(int argc, char** argv) {
  try {
    return quench::make(quench::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_unseen_model: %s\n", error.what());
    return 1;
  }
}

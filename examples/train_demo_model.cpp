// Makes the embedded demo: trains small_cnn on Fashion-MNIST, writes it as ONNX (BatchNormalization kept,
// dynamic batch) and cuts the first 1,000 test images with their labels out of the data set.
// examples/demo/README.md has the command that made the files in the repository.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/export.h"
#include "quench/state_dict.h"
#include "quench/torch.h"
#include "quench/train.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

constexpr int kDemoImages = 1000;
constexpr std::int64_t kValidation = 5000;  // the last training images, to choose the best epoch by

struct Arguments {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string out = "examples/demo";
  TrainOptions train;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  TrainOptions& train = arguments.train;
  train.epochs = 3;
  train.optimizer.lr = 0.1;
  train.optimizer.weight_decay = 5e-4;
  train.schedule.warmup_epochs = 0.5;
  train.label_smoothing = 0.05;
  train.augment.flip = true;
  CLI::App app(
      "Trains the demo model on Fashion-MNIST and writes it with a "
      "small test set.");
  app.add_option("--data", arguments.data, "folder of the gzip'd IDX files")->capture_default_str();
  app.add_option("--out", arguments.out, "folder for the model and the test images")->capture_default_str();
  app.add_option("--epochs", train.epochs, "passes over the training images")->capture_default_str();
  app.add_option("--learning-rate", train.optimizer.lr, "highest learning rate")->capture_default_str();
  app.add_option("--seed", train.seed, "seed of weights, order and augmentation")->capture_default_str();
  app.add_option("--checkpoints", train.folder, "folder for checkpoints and logs");
  app.add_flag("--resume", train.resume, "from the last checkpoint there");
  int threads = 2;
  app.add_option("--threads", threads, "threads of LibTorch; the weights' last bits depend on them")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  at::set_num_threads(threads);
  return arguments;
}

std::string idx_spec(const std::string& folder, const std::string& set) {
  return concat("idx:", folder, "/", set, "-images-idx3-ubyte.gz?labels=", folder, "/", set,
                "-labels-idx1-ubyte.gz&norm=mnist");
}

// Part of another data set.
class Range : public Dataset {
 public:
  Range(const Dataset& whole, std::int64_t begin, std::int64_t end) : whole_(whole), begin_(begin), end_(end) {}
  std::int64_t size() const override { return end_ - begin_; }
  Sample get(std::int64_t index) const override { return whole_.get(begin_ + index); }
  Task task() const override { return whole_.task(); }

 private:
  const Dataset& whole_;
  std::int64_t begin_, end_;
};

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

// The first images or labels of an IDX file: the header with the new count, then that many items.
void cut_idx(const std::string& from, const std::string& to, std::size_t header, std::size_t item) {
  const Gzip in(gzopen(from.c_str(), "rb"));
  QUENCH_CHECK(in, "cannot open '", from, "'");
  std::vector<unsigned char> bytes(header + kDemoImages * item);
  const auto wanted = static_cast<unsigned>(bytes.size());
  QUENCH_CHECK(gzread(in.get(), bytes.data(), wanted) == static_cast<int>(wanted), "'", from, "' is too short");
  bytes[4] = bytes[5] = 0;
  bytes[6] = kDemoImages >> 8;
  bytes[7] = kDemoImages & 0xFF;
  Gzip out(gzopen(to.c_str(), "wb9"));
  QUENCH_CHECK(out && gzwrite(out.get(), bytes.data(), wanted) == static_cast<int>(wanted), "cannot write '", to, "'");
  QUENCH_CHECK(gzclose(out.release()) == Z_OK, "cannot write '", to, "'");
}

Graph untrained(std::uint64_t seed) {
  const auto net = make_zoo_model("small_cnn", {.seed = seed});
  std::printf("small_cnn: %lld parameters\n", static_cast<long long>(count_parameters(*net)));
  net->eval();
  ModuleImportOptions options;
  options.output_names = {"logits"};
  options.name = "fashion_cnn";
  Graph graph = from_module(net, {at::zeros({1, 1, 28, 28})}, options);
  graph.doc = "small_cnn of quench, trained on Fashion-MNIST. Input: grey 28x28, (x/255 - 0.1307) / 0.3081";
  return graph;
}

int finish(const Arguments& arguments, const Graph& graph, const Dataset& test) {
  const EvalResult result = evaluate(graph, test);
  std::printf("test: %lld of %lld correct\n", static_cast<long long>(result.metric("top1").right.value()),
              static_cast<long long>(result.items));
  std::filesystem::create_directories(arguments.out);
  export_onnx(graph, arguments.out + "/fashion_cnn.onnx");
  cut_idx(arguments.data + "/t10k-images-idx3-ubyte.gz", arguments.out + "/images.gz", 16, 784);
  cut_idx(arguments.data + "/t10k-labels-idx1-ubyte.gz", arguments.out + "/labels.gz", 8, 1);
  return 0;
}

int make_demo(const Arguments& arguments) {
  const auto whole = open_dataset(idx_spec(arguments.data, "train")),
             test = open_dataset(idx_spec(arguments.data, "t10k"));
  const Range train(*whole, 0, whole->size() - kValidation),
      validation(*whole, whole->size() - kValidation, whole->size());
  Graph graph = untrained(arguments.train.seed);
  TrainOptions options = arguments.train;
  options.epoch_done = [](const TrainEpoch& one) {
    std::printf("epoch %d: loss %.4f, validation %.2f %%, %.1f s\n", one.epoch, one.loss, 100 * one.quantized.value(),
                one.seconds);
    std::fflush(stdout);
  };
  train_float(graph, {train, &validation}, options);
  return finish(arguments, graph, *test);
}

}  // namespace
}  // namespace quench

int main(int argc, char** argv) {
  try {
    return quench::make_demo(quench::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_demo_model: %s\n", error.what());
    return 1;
  }
}

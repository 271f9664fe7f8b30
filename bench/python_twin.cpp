// What Python does through the package, in C++: bench/python takes turns between the two, tests/python compares them.
//   bench_python_twin train MODEL.onnx DATA.npz STEPS    one line a step: {"loss": L, "seconds": S}; plain SGD at 0.01
//                                                        through QatModule, batches of 32 of x and y
//   bench_python_twin calibrate MODEL.onnx DATA.npz      the seconds of quantize() on x up to calibration
#include <ATen/ATen.h>
#include <torch/optim/sgd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "quench/error.h"
#include "quench/import.h"
#include "quench/npz.h"
#include "quench/pass.h"
#include "quench/qat.h"
#include "quench/quantize.h"

using namespace quench;

namespace {

constexpr std::int64_t kBatch = 32;

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }  // of the processor: one thread

void train(const std::string& file, const NamedValues& data, std::int64_t steps) {
  QatModule module(quantized_model_of(import_model(file)));
  torch::optim::SGD optimizer(module.parameters(), 0.01);
  const at::Tensor &x = data.at("x").tensor(), &y = data.at("y").tensor();
  for (std::int64_t step = 0; step < steps; ++step) {
    const double start = now();
    const std::int64_t at = step * kBatch % x.size(0);
    optimizer.zero_grad();
    const at::Tensor loss =
        at::cross_entropy_loss(module.forward(x.slice(0, at, at + kBatch)), y.slice(0, at, at + kBatch));
    loss.backward();
    optimizer.step();
    const double value = loss.item<double>();
    std::printf("{\"loss\": %.17g, \"seconds\": %.9f}\n", value, now() - start);
  }
}

void calibrate(const std::string& file, const NamedValues& data) {
  Graph graph = import_model(file);
  run_passes(graph, cleanup_passes());
  const double start = now();
  const auto set = dataset_of(data.at("x").tensor().unbind());
  QuantConfig config;
  config.platform = "onnxruntime";
  QuantizeOptions options;
  options.stop_after = "calibrate";
  quantize(graph, *set, config, options);
  std::printf("{\"seconds\": %.9f}\n", now() - start);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    QUENCH_CHECK(argc >= 4, "bench_python_twin (train | calibrate) MODEL DATA [STEPS]");
    const NamedValues data = read_npz(argv[3]);
    if (std::string_view(argv[1]) == "train")
      train(argv[2], data, argc > 4 ? std::atoll(argv[4]) : 20);
    else
      calibrate(argv[2], data);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

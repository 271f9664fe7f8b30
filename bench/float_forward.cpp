// Images per second of a zoo model in one of three forms, in this process; bench/float_forward runs them
// interleaved in separate processes and adds ONNX Runtime.
//   bench_float_forward MODEL BATCH eager|eager_malloc|quench SECONDS
//   bench_float_forward MODEL - export FILE.onnx
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "quench/error.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/pass.h"
#include "quench/process.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace {

double images_per_second(std::int64_t batch, double seconds, const std::function<void()>& forward) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto since = [&](auto start) { return std::chrono::duration<double>(now() - start).count(); };
  for (const auto start = now(); since(start) < seconds / 4;) forward();  // warm: packed weights, page faults
  std::int64_t images = 0;
  const auto start = now();
  while (since(start) < seconds) {
    forward();
    images += batch;
  }
  return static_cast<double>(images) / since(start);
}

quench::Graph import_zoo(const std::string& model, const at::Tensor& example) {
  auto net = quench::make_zoo_model(model);
  net->eval();
  return quench::from_module(*net, {example});
}

int run(const std::string& model, const std::string& batch_text, const std::string& form, const std::string& last) {
  at::set_num_threads(2);
  at::manual_seed(0);
  const std::int64_t size = quench::ZooRegistry::instance().get(model).image_size;
  if (form == "export") {
    quench::export_onnx(import_zoo(model, at::randn({1, 3, size, size})), last);
    return 0;
  }
  const std::int64_t batch = std::stoll(batch_text);
  const double seconds = std::stod(last);
  if (form != "eager") quench::keep_large_blocks();
  const c10::AutoGradMode no_grad(false);
  const at::Tensor x = at::randn({batch, 3, size, size});
  double speed = 0.0;
  if (form == "quench") {
    quench::Graph graph = import_zoo(model, x);
    quench::run_passes(graph, quench::inference_passes());
    quench::Executor executor(graph, {.channels_last = true});
    speed = images_per_second(batch, seconds, [&] { executor.run({quench::RtValue(x)}); });
  } else {
    auto net = quench::make_zoo_model(model);
    net->eval();
    speed = images_per_second(batch, seconds, [&] { net->forward(x); });
  }
  std::printf("%.2f\n", speed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s MODEL BATCH eager|eager_malloc|quench SECONDS | MODEL - export FILE\n", argv[0]);
    return 1;
  }
  try {
    return run(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

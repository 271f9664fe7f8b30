// What calibration costs over float inference, for a zoo model of images (platform tensorrt) or an ONNX file of one
// (platform onnxruntime, 224 pixels a side); bench/calibration makes the table.
//   bench_calibration MODEL time ROUNDS            one line per observer: ratio, ns per element, seconds for scales,
//                                                  elements per image; one thread, CPU time
//   bench_calibration MODEL speed OBSERVER IMAGES  images of calibrate(), all of it, per second of one thread
//   bench_calibration MODEL memory WHAT IMAGES     peak memory in MB; WHAT is "float" or an observer
//   bench_calibration MODEL cuda ROUNDS BATCH      one line per observer, on a GPU, images in its memory: milliseconds
//                                                  of the float forward and of the observed one, their ratio
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>

#include "calibrate/float_run.h"
#include "calibrate/slice_size.h"
#include "measure/fast_run.h"
#include "quench/calibrate.h"
#include "quench/engine.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/prepare.h"
#include "quench/process.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace {

using namespace quench;

constexpr std::int64_t kBatch = 32;
const std::vector<std::string> kObservers = {"min_max", "ema_min_max", "ema_quantile", "mse", "kl", "histogram"};

// CPU time: with one thread the same as wall-clock time, but valid on a busy machine too.
double seconds_of(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A few noise images, again and again.
class Noise : public Dataset {
 public:
  Noise(std::int64_t count, std::int64_t size) : count_(count), images_(at::randn({8, 3, size, size})) {}
  std::int64_t size() const override { return count_; }
  Task task() const override { return Task::kNone; }
  Sample get(std::int64_t index) const override { return {images_[index % 8], -1, std::to_string(index), -1}; }

 private:
  std::int64_t count_;
  at::Tensor images_;
};

bool is_file(const std::string& model) { return model.ends_with(".onnx"); }

Graph import_one(const std::string& model, std::int64_t size) {
  if (is_file(model)) return import_model(model);
  auto net = make_zoo_model(model);
  net->eval();
  return from_module(*net, {at::randn({1, 3, size, size})});
}

std::string platform = "tensorrt";  // set once, by the kind of model

QuantizedModel with_observer(const Graph& graph, const std::string& observer) {
  QuantConfig config;
  config.activation.observer = observer;
  return prepare_by_platform(graph, platform, config);
}

struct Float {
  explicit Float(Graph graph) {
    run_passes(graph, engine_passes());
    engine = std::make_unique<Engine>(graph);
  }
  void run(const RtValue& x) const { engine->run({x}); }
  std::unique_ptr<Engine> engine;
};

std::int64_t observed_elements(const Graph& graph, const Observing& observing, const at::Tensor& x) {
  std::vector<std::string> names;
  for (const ObservedQuantizer& one : observing.quantizers())
    if (one.from_data) names.push_back(one.value().name());
  Executor executor(graph);
  std::int64_t count = 0;
  for (const auto& [name, value] : executor.run({{graph.inputs()[0]->name(), RtValue(x)}}, names))
    count += value.tensor().numel();
  return count;
}

// The same network, with nobody who looks.
std::vector<Watch> blind(std::vector<Watch> watches) {
  for (Watch& watch : watches) watch.see = [](const at::Tensor&) {};
  return watches;
}

void time_one(const Graph& graph, const std::string& observer, const at::Tensor& x, int rounds) {
  QuantizedModel model = with_observer(graph, observer);
  Graph& quantized = model.graph;
  Observing observing(model);
  const double elements = static_cast<double>(observed_elements(quantized, observing, x.narrow(0, 0, 1)) * x.size(0));
  FloatRun network(quantized, watches_of(observing), "cpu"), plain(quantized, blind(watches_of(observing)), "cpu");
  std::vector<double> ratios, excess;
  const NamedValues inputs = {{graph.inputs()[0]->name(), RtValue(x)}};
  network.run(inputs), plain.run(inputs);  // packs the weights
  for (int round = 0; round < rounds; ++round) {
    const double before = seconds_of([&] { plain.run(inputs); }), with = seconds_of([&] { network.run(inputs); });
    const double after = seconds_of([&] { plain.run(inputs); });
    ratios.push_back(2 * with / (before + after));
    excess.push_back((with - (before + after) / 2) / elements * 1e9);
  }
  const double scales = seconds_of([&] {
    observing.observe_constants(quantized);
    observing.take_over(model);
  });
  std::printf("%-14s %6.3f %6.3f %6.2f %9.0f\n", observer.c_str(), median(ratios), median(excess), scales,
              elements / static_cast<double>(x.size(0)));
  std::fflush(stdout);
}

double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

double speed_of(const Graph& graph, const std::string& observer, std::int64_t images, std::int64_t size) {
  const Noise data(images, size);
  QuantizedModel model = with_observer(graph, observer);
  return static_cast<double>(images) / seconds_of([&] { calibrate(model, data); });
}

double memory_of(const Graph& graph, const std::string& what, std::int64_t images, std::int64_t size) {
  const Noise data(images, size);
  forget_peak();
  if (what != "float") {
    QuantizedModel quantized = with_observer(graph, what);
    CalibrationOptions options;
    options.batch = kBatch;
    calibrate(quantized, data, options);
    return peak_megabytes();
  }
  const Float plain(graph);
  Loader loader(data, {.batch_size = kBatch});
  while (const std::optional<Batch> batch = loader.next()) plain.run(batch->inputs.only());
  return peak_megabytes();
}

double gpu_milliseconds(const std::function<void()>& body) {
  const c10::impl::VirtualGuardImpl device(c10::DeviceType::CUDA);
  device.synchronizeDevice(0);
  const auto start = std::chrono::steady_clock::now();
  body();
  device.synchronizeDevice(0);
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void time_on_gpu(const Graph& graph, const std::string& observer, const at::Tensor& x, int rounds) {
  constexpr int kWarmUp = 5;
  QuantizedModel model = with_observer(graph, observer);
  Observing observing(model);
  FastRun plain(graph, "cuda");
  FloatRun network(model.graph, watches_of(observing), "cuda");
  std::vector<double> alone, observed;
  const NamedValues inputs = {{graph.inputs()[0]->name(), RtValue(x)}};
  for (int round = -kWarmUp; round < rounds; ++round) {
    const double before = gpu_milliseconds([&] { plain.run(inputs); });
    const double with = gpu_milliseconds([&] { network.run(inputs); });
    if (round < 0) continue;
    alone.push_back(before);
    observed.push_back(with);
  }
  std::printf("%-14s %8.3f %8.3f %6.3f\n", observer.c_str(), median(alone), median(observed),
              median(observed) / median(alone));
  std::fflush(stdout);
}

int run(const std::string& model, const std::string& mode, const std::vector<std::string>& rest) {
  at::set_num_threads(mode == "memory" ? 2 : 1);
  at::manual_seed(0);
  keep_large_blocks();
  const std::int64_t size = is_file(model) ? 224 : ZooRegistry::instance().get(model).image_size;
  if (is_file(model)) platform = "onnxruntime";
  const Graph graph = import_one(model, size);
  if (mode == "memory") {
    std::printf("%.0f\n", memory_of(graph, rest.at(0), std::stoll(rest.at(1)), size));
    return 0;
  }
  if (mode == "cuda") {
    at::set_num_threads(1);
    const at::Tensor x = at::randn({std::stoll(rest.at(1)), 3, size, size}).to(at::kCUDA);
    for (const std::string& observer : kObservers) time_on_gpu(graph, observer, x, std::stoi(rest.at(0)));
    return 0;
  }
  if (mode == "speed") {
    std::printf("%.2f\n", speed_of(graph, rest.at(0), std::stoll(rest.at(1)), size));
    return 0;
  }
  const at::Tensor x = at::randn({slice_size(graph, Noise(kBatch, size)), 3, size, size});
  for (const std::string& observer : kObservers) time_one(graph, observer, x, std::stoi(rest.at(0)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const bool fits = (all.size() == 3 && all[1] == "time") ||
                    (all.size() == 4 && (all[1] == "memory" || all[1] == "speed" || all[1] == "cuda"));
  if (!fits) {
    std::fprintf(stderr,
                 "usage: %s MODEL time ROUNDS | MODEL speed OBSERVER IMAGES | MODEL memory float|OBSERVER IMAGES | "
                 "MODEL cuda ROUNDS BATCH\n",
                 argv[0]);
    return 1;
  }
  try {
    return run(all[0], all[1], {all.begin() + 2, all.end()});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

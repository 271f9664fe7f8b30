// A language model in eight bits: perplexities in float, on academic_nlp and on onnxruntime, unchanged, with
// equalization of the gated layers, and with smoothing of what linear layers read. The table of docs/results.md.
//   example_ptq_nlp MODEL CALIBRATION EVALUATION     (specs of data: docs/data.md)
#include <chrono>
#include <cstdio>
#include <iostream>

#include "quench/calibrate.h"
#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/platform.h"
#include "quench/prepare.h"
#include "quench/process.h"
#include "quench/ptq.h"

using namespace quench;

// academic_nlp has no settings of its own: these are the usual ones of W8A8.
QuantConfig config_of(const std::string& platform) {
  QuantConfig config;
  config.platform = platform;
  if (platform != "academic_nlp") return config;
  config.weight.bits = config.activation.bits = 8;
  config.weight.fake_quant = config.activation.fake_quant = "fixed";
  config.weight.observer = "min_max";
  config.weight.granularity = Granularity::kChannel;
  config.activation.observer = "mse";
  config.activation.symmetric = false;
  return config;
}

double perplexity(const Graph& graph, const Dataset& data) { return evaluate(graph, data, {}).perplexity(); }

void run(const std::string& model, const Dataset& calibration, const Dataset& evaluation, const std::string& platform,
         const std::string& treatment) {
  const auto start = std::chrono::steady_clock::now();
  const QuantConfig config = config_of(platform);
  Graph graph = import_model(model);
  fuse_for_quantizing(graph, config, NormMode::kFold);
  if (treatment == "equalized") equalize(graph, {.data = &calibration});
  QuantPlan plan = make_plan(graph, config);
  if (treatment == "smoothed") smooth(graph, plan, calibration);
  PrepareOptions options;
  options.plan = plan;
  QuantizedModel quantized = prepare(graph, config, options);
  calibrate(quantized, calibration);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("| %s | %s | %.4f | %.1f |\n", platform.c_str(), treatment.c_str(),
              perplexity(quantized.graph, evaluation), seconds.count());
}

int main(int argc, char** argv) try {
  QUENCH_CHECK(argc == 4, "usage: example_ptq_nlp MODEL CALIBRATION EVALUATION");
  avoid_cpu_quirks();
  Graph graph = import_model(argv[1]);
  run_passes(graph, cleanup_passes());
  const auto calibration = open_dataset(argv[2], graph), evaluation = open_dataset(argv[3], graph);
  std::printf("| platform | treatment | perplexity | seconds to quantize |\n|---|---|---|---|\n");
  std::printf("| float | | %.4f | |\n", perplexity(graph, *evaluation));
  for (const char* platform : {"academic_nlp", "onnxruntime"})
    for (const char* treatment : {"none", "equalized", "smoothed"})
      run(argv[1], *calibration, *evaluation, platform, treatment);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}

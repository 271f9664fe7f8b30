#include "quench/speed.h"

#include <ATen/ATen.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "data/random_inputs.h"
#include "kernels/device_copy.h"
#include "measure/fast_run.h"
#include "quench/error.h"
#include "quench/pass.h"
#include "quench/process.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::int64_t peak_bytes() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? std::int64_t{usage.ru_maxrss} * 1024 : 0;
}

// The least of them that is not below this share of them.
double quantile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void time_runs(const std::function<void()>& run, const SpeedOptions& options, SpeedRecord& record) {
  constexpr double kWarmUp = 0.25, kMilliseconds = 1000;
  run();  // compiles
  for (const auto start = Clock::now(); since(start) < kWarmUp * options.seconds;) run();
  std::vector<double> seconds;
  const auto start = Clock::now();
  while (seconds.empty() || since(start) < options.seconds) {
    const auto before = Clock::now();
    run();
    seconds.push_back(since(before));
    if (options.progress)
      options.progress(std::min(static_cast<std::int64_t>(kMilliseconds * since(start)),
                                static_cast<std::int64_t>(kMilliseconds * options.seconds)),
                       static_cast<std::int64_t>(kMilliseconds * options.seconds));
  }
  record.runs = static_cast<std::int64_t>(seconds.size());
  record.items_per_second = static_cast<double>(record.runs * record.batch) / since(start);
  std::sort(seconds.begin(), seconds.end());
  record.least = seconds.front();
  record.median = quantile(seconds, 0.5);
  record.p90 = quantile(seconds, 0.9);
  record.p99 = quantile(seconds, 0.99);
}

// Timing single steps costs time itself: in an engine of their own. Medians, since a step that another process
// interrupts takes many times its time.
void time_steps(const Graph& graph, const std::vector<RtValue>& inputs, SpeedRecord& record) {
  constexpr int kRuns = 11;
  EngineOptions options;
  options.threads = record.threads;
  options.measure = true;
  Engine engine(graph, options);
  engine.run(inputs);  // compiles
  record.steps = engine.steps();
  std::vector<double> before;
  for (const EngineStep& step : record.steps) before.push_back(step.seconds);
  std::vector<std::vector<double>> of_step(record.steps.size());
  for (int i = 0; i < kRuns; ++i) {
    engine.run(inputs);
    const std::vector<EngineStep> so_far = engine.steps();
    for (std::size_t step = 0; step < so_far.size(); ++step) {
      of_step[step].push_back(so_far[step].seconds - before[step]);
      before[step] = so_far[step].seconds;
    }
  }
  for (std::size_t step = 0; step < of_step.size(); ++step) {
    std::sort(of_step[step].begin(), of_step[step].end());
    record.steps[step].seconds = quantile(of_step[step], 0.5);
  }
}

// The first output is read after each run, so that the device has finished.
void time_on_device(const Graph& graph, const NamedValues& inputs, const SpeedOptions& options, SpeedRecord& record) {
  FastRun fast(graph, options.device);
  NamedValues there;
  for (const auto& [name, value] : inputs)
    there[name] = value.is_tensor() ? RtValue(value.tensor().to(at::Device(options.device)), value.dtype()) : value;
  time_runs([&] { Download(fast.run(there).tensor()).wait(); }, options, record);
  record.peak_bytes = peak_bytes();
}

}  // namespace

SpeedRecord measure_speed(const Graph& graph, const SpeedOptions& options) {
  QUENCH_CHECK(options.seconds > 0, "the time to measure must be above 0 seconds, not ", options.seconds);
  QUENCH_CHECK(!graph.inputs().empty() && graph.inputs()[0]->has_rank() && graph.inputs()[0]->rank() > 0,
               "the model has no input with a batch");
  const NamedValues named = random_inputs(graph, options.seed);
  std::vector<RtValue> inputs;
  for (const Value* input : graph.inputs()) inputs.push_back(named.at(input->name()));
  SpeedRecord record;
  record.batch = graph.inputs()[0]->dims()[0].number();
  record.threads = options.threads > 0 ? options.threads : threads();
  if (options.device != "cpu") {
    time_on_device(graph, named, options, record);
    return record;
  }
  Graph fast = graph;
  record.engine = quantizers_of(graph).empty() && bias_quantizers_of(graph).empty() && has_engine_kernels();
  if (record.engine) {
    run_passes(fast, engine_passes());
    EngineOptions engine_options;
    engine_options.threads = record.threads;
    Engine engine(fast, engine_options);
    time_runs([&] { engine.run(inputs); }, options, record);
    record.weight_bytes = engine.weight_bytes();
    record.arena_bytes = engine.arena_bytes();
    record.peak_bytes = peak_bytes();
    time_steps(fast, inputs, record);
    return record;
  }
  optimize_for_running(fast, "cpu");
  ExecOptions exec;
  exec.channels_last = true;
  Executor executor(fast, exec);
  time_runs([&] { executor.run(inputs); }, options, record);
  record.peak_bytes = peak_bytes();
  return record;
}

}  // namespace quench

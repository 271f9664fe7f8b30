// Images per second of one model file in one form, in this process; bench/engine runs them interleaved and adds other
// runtimes.
//   bench_engine FILE BATCH executor|engine SECONDS [PART [steps]]
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "quench/engine.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/process.h"

namespace {

double images_per_second(std::int64_t batch, double seconds, const std::function<void()>& forward) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto since = [&](auto start) { return std::chrono::duration<double>(now() - start).count(); };
  for (const auto start = now(); since(start) < seconds / 4;) forward();
  std::int64_t images = 0;
  const auto start = now();
  while (since(start) < seconds) {
    forward();
    images += batch;
  }
  return static_cast<double>(images) / since(start);
}

void print_steps(const quench::Engine& engine) {
  std::vector<quench::EngineStep> steps = engine.steps();
  double total = 0;
  for (const auto& step : steps) total += step.seconds;
  for (const auto& step : steps)
    std::printf("%6.2f %%  %-40s %-24s %s\n", 100 * step.seconds / total, step.node.c_str(), step.op.c_str(),
                step.kernel.c_str());
}

int run(const std::string& file, std::int64_t batch, const std::string& form, double seconds, int part, bool steps) {
  quench::keep_large_blocks();
  quench::avoid_cpu_quirks();
  quench::set_threads(2);
  const c10::AutoGradMode no_grad(false);
  quench::Graph graph = quench::import_model(file);
  quench::run_passes(graph, quench::cleanup_passes());
  std::vector<std::int64_t> sizes = {batch};
  for (std::size_t d = 1; d < graph.inputs()[0]->dims().size(); ++d)
    sizes.push_back(graph.inputs()[0]->dims()[d].number());
  at::manual_seed(0);
  const at::Tensor x = at::randn(sizes);
  quench::Graph plain = graph;
  quench::run_passes(plain, quench::inference_passes());
  quench::Executor executor(plain, {.channels_last = true});
  if (form == "executor") {
    std::printf("%.2f\n", images_per_second(batch, seconds, [&] { executor.run({x}); }));
    return 0;
  }
  quench::run_passes(graph, quench::engine_passes());
  quench::Engine engine(graph, {.part = part, .measure = steps});
  const at::Tensor expected = executor.run({x})[0].tensor(), found = engine.run({x})[0].tensor();
  const double off = (expected - found).abs().max().item<double>();
  const double speed = images_per_second(batch, seconds, [&] { engine.run({x}); });
  std::printf("%.2f  (largest difference %g of %g, part %d, arena %.1f MB)\n", speed, off,
              expected.abs().max().item<double>(), engine.part(), static_cast<double>(engine.arena_bytes()) / 1e6);
  if (steps) print_steps(engine);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    QUENCH_CHECK(argc >= 5, "usage: bench_engine FILE BATCH executor|engine SECONDS [PART [steps]]");
    return run(argv[1], std::stoll(argv[2]), argv[3], std::stod(argv[4]), argc > 5 ? std::stoi(argv[5]) : 0, argc > 6);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

// How fast a graph runs on this machine: whole runs, and step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/engine.h"
#include "quench/graph.h"

namespace quench {

struct SpeedOptions {
  double seconds = 3.0;        // of measuring; a quarter of that comes before, to warm up
  int threads = 0;             // 0: LibTorch's number
  std::string device = "cpu";  // on a GPU inputs lie in its memory, and each run is waited for
  std::uint64_t seed = 0;
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // in milliseconds
};

struct SpeedRecord {
  std::int64_t batch = 0, runs = 0;
  int threads = 0;
  double items_per_second = 0.0;
  double median = 0.0, p90 = 0.0, p99 = 0.0, least = 0.0;  // seconds of one run
  std::int64_t weight_bytes = 0, arena_bytes = 0;          // of an engine
  std::int64_t peak_bytes = 0;                             // of the process; 0 if the system does not tell
  bool engine = false;                                     // else the executor: a graph with quantizers
  std::vector<EngineStep> steps;                           // seconds per run; timed in runs of their own
};

// On random inputs; all their dims must be numbers. The first one's first dim is the batch.
SpeedRecord measure_speed(const Graph& graph, const SpeedOptions& options = {});

}  // namespace quench

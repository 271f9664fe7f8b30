// A graph in its fastest form for a device: float and integer networks in the engine on the CPU; networks with
// quantizers, and everything on other devices, in the executor, on a GPU replayed.
#pragma once

#include <memory>
#include <string>

#include "graph/replayed_run.h"
#include "quench/engine.h"
#include "quench/executor.h"

namespace quench {

class FastRun {
 public:
  FastRun(const Graph& graph, const std::string& device);
  // The graph's first output.
  RtValue run(const NamedValues& inputs);

 private:
  Graph graph_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ReplayedRun> replayed_;
};

}  // namespace quench

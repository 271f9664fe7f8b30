// A graph in its fastest form for a device: float and integer networks in the engine on the CPU; networks with
// quantizers, and everything on other devices, in the executor, on a GPU replayed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/replayed_run.h"
#include "quench/engine.h"
#include "quench/executor.h"

namespace quench {

class FastRun {
 public:
  // `outputs`: those of the graph that are wanted.
  FastRun(const Graph& graph, const std::string& device, std::vector<std::size_t> outputs = {0});
  RtValue run(const NamedValues& inputs);  // the first of them
  std::vector<RtValue> run_outputs(const NamedValues& inputs);

 private:
  Graph graph_;
  const std::vector<std::size_t> outputs_;
  std::vector<std::string> names_;  // of them, where the executor runs
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ReplayedRun> replayed_;
};

}  // namespace quench

// A graph in its fastest form for a device: float and integer networks in the engine on the CPU; networks with
// quantizers, and everything on other devices, in the executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/engine.h"
#include "quench/executor.h"

namespace quench {

class FastRun {
 public:
  FastRun(const Graph& graph, const std::string& device);
  // The graph's first output, or these of them.
  RtValue run(const NamedValues& inputs);
  std::vector<RtValue> run(const NamedValues& inputs, const std::vector<std::size_t>& outputs);

 private:
  Graph graph_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace quench

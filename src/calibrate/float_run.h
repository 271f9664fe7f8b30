// The float network behind a graph with quantizers, in its fastest form, with the observed values exposed: what
// calibration on float activations runs. Costs no more than inference without quantizers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/observing.h"
#include "quench/engine.h"

namespace quench {

class FloatRun {
 public:
  // `observing` must outlive it; its quantizers that see data are shown every batch.
  FloatRun(const Graph& graph, const Observing& observing, const std::string& device);
  void run(const NamedValues& inputs);

 private:
  void use_engine(const Observing& observing);
  void use_executor(const Observing& observing, const std::string& device);

  Graph graph_;
  std::unique_ptr<Engine> engine_;  // on the CPU
  std::vector<std::string> tips_;   // the last observed values: computing them computes all
  std::unique_ptr<Executor> executor_;
};

}  // namespace quench

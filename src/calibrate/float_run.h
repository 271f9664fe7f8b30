// The float network behind a graph with quantizers, in its fastest form, with some of its values watched: what
// calibration on float activations and fast bias correction run. Costs no more than inference without quantizers.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "calibrate/observing.h"
#include "graph/replayed_run.h"
#include "kernels/statistics/ahead.h"
#include "quench/engine.h"

namespace quench {

// What the quantizers that see data observe. `observing` must outlive it.
std::vector<Watch> watches_of(const Observing& observing);

// What the graph's quantizers of activations quantize. A FloatRun computes all of it as values of their own, whoever
// watches: what is fused, and so the last bits, must not depend on that.
std::set<std::string> quantized_values(const Graph& graph);

class FloatRun {
 public:
  // Several may watch one value. They see every batch; one that follows from constants alone is seen as often.
  FloatRun(const Graph& graph, const std::vector<Watch>& watches, const std::string& device);
  void run(const NamedValues& inputs);
  // Several batches, in the engine one thread each (Engine::run_each). The others are run one after another.
  void run_each(const std::vector<NamedValues>& batches);

 private:
  std::vector<RtValue> in_order(const NamedValues& inputs) const;
  void use_engine(const std::vector<Watch>& watches);
  void use_executor(const std::vector<Watch>& watches);
  void use_gpu(const std::vector<Watch>& watches, const std::string& device);

  Graph graph_;
  std::unique_ptr<Engine> engine_;  // on the CPU
  std::vector<Watch> constants_;    // of values that the engine's passes folded
  std::vector<std::string> tips_;   // the last watched values: computing them computes all
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ReplayedRun> replayed_;  // on a GPU: what is watched is looked at after the run
  std::vector<Watch> watched_;
  Ahead ahead_;  // for them
};

}  // namespace quench

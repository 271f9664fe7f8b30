#include "measure/fast_run.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {

FastRun::FastRun(const Graph& graph, const std::string& device) : graph_(graph) {
  const bool has_quantizers = !quantizers_of(graph).empty() || !bias_quantizers_of(graph).empty();
  if (device == "cpu" && !has_quantizers && has_engine_kernels()) {
    run_passes(graph_, engine_passes());
    engine_ = std::make_unique<Engine>(graph_);
    return;
  }
  optimize_for_running(graph_, device);
  ExecOptions exec;
  exec.channels_last = true;
  exec.device = device;
  executor_ = std::make_unique<Executor>(graph_, exec);
  replayed_ = std::make_unique<ReplayedRun>(*executor_, std::vector{graph_.outputs()[0]->name()});
}

RtValue FastRun::run(const NamedValues& inputs) {
  if (replayed_) {
    const RtValue output = replayed_->run(inputs).begin()->second;
    // The next run writes over it.
    return output.is_tensor() && !output.tensor().is_cpu() ? RtValue(output.tensor().clone(), output.dtype()) : output;
  }
  std::vector<RtValue> given;
  for (const Value* input : graph_.inputs()) {
    const auto at = inputs.find(input->name());
    QUENCH_CHECK(at != inputs.end(), "the data has no input '", input->name(), "'");
    given.push_back(at->second);
  }
  return engine_->run(given)[0];
}

}  // namespace quench

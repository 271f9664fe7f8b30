#include "measure/fast_run.h"

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
}

RtValue FastRun::run(const NamedValues& inputs) { return run(inputs, {0})[0]; }

std::vector<RtValue> FastRun::run(const NamedValues& inputs, const std::vector<std::size_t>& outputs) {
  std::vector<RtValue> wanted;
  if (executor_) {
    std::vector<std::string> names;
    for (const std::size_t output : outputs) names.push_back(graph_.outputs()[output]->name());
    const NamedValues values = executor_->run(inputs, names);
    for (const std::string& name : names) wanted.push_back(values.at(name));
    return wanted;
  }
  std::vector<RtValue> given;
  for (const Value* input : graph_.inputs()) {
    const auto at = inputs.find(input->name());
    QUENCH_CHECK(at != inputs.end(), "the data has no input '", input->name(), "'");
    given.push_back(at->second);
  }
  const std::vector<RtValue> all = engine_->run(given);
  for (const std::size_t output : outputs) wanted.push_back(all[output]);
  return wanted;
}

}  // namespace quench

#include "measure/fast_run.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {

namespace {

// What a GPU computed, the next run writes over.
RtValue kept(const RtValue& output) {
  return output.is_tensor() && !output.tensor().is_cpu() ? RtValue(output.tensor().clone(), output.dtype()) : output;
}

}  // namespace

FastRun::FastRun(const Graph& graph, const std::string& device, std::vector<std::size_t> outputs)
    : graph_(graph), outputs_(std::move(outputs)) {
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
  for (const std::size_t output : outputs_) names_.push_back(graph_.outputs()[output]->name());
  replayed_ = std::make_unique<ReplayedRun>(*executor_, names_);
}

RtValue FastRun::run(const NamedValues& inputs) { return run_outputs(inputs)[0]; }

std::vector<RtValue> FastRun::run_outputs(const NamedValues& inputs) {
  std::vector<RtValue> wanted;
  if (replayed_) {
    const NamedValues values = replayed_->run(inputs);
    for (const std::string& name : names_) wanted.push_back(kept(values.at(name)));
    return wanted;
  }
  std::vector<RtValue> given;
  for (const Value* input : graph_.inputs()) {
    const auto at = inputs.find(input->name());
    QUENCH_CHECK(at != inputs.end(), "the data has no input '", input->name(), "'");
    given.push_back(at->second);
  }
  const std::vector<RtValue> all = engine_->run(given);
  for (const std::size_t output : outputs_) wanted.push_back(all[output]);
  return wanted;
}

}  // namespace quench

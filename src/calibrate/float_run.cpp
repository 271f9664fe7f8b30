#include "calibrate/float_run.h"

#include <algorithm>
#include <map>
#include <set>

#include "quench/error.h"
#include "quench/observer.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// As graph outputs the observed values keep their names, and no fusion swallows them.
void show(Graph& graph, const std::set<std::string>& names) {
  graph.clear_outputs();
  for (const std::string& name : names)
    if (!graph.value(name).is_input()) graph.add_output(graph.value(name));
}

std::vector<std::string> tips_of(const Graph& graph, const std::set<std::string>& names) {
  std::set<const Value*> before;  // a shown value comes after these
  for (auto at = graph.nodes().rbegin(); at != graph.nodes().rend(); ++at) {
    const Node& node = **at;
    const bool leads_on = std::any_of(node.outputs().begin(), node.outputs().end(), [&](const Value* output) {
      return output && (names.contains(output->name()) || before.contains(output));
    });
    if (leads_on) before.insert(node.inputs().begin(), node.inputs().end());
  }
  std::vector<std::string> tips;
  for (const std::string& name : names)
    if (!before.contains(&graph.value(name))) tips.push_back(name);
  return tips;
}

}  // namespace

FloatRun::FloatRun(const Graph& graph, const Observing& observing, const std::string& device)
    : graph_(without_quantizers(graph)) {
  std::set<std::string> names;
  for (const ObservedQuantizer& one : observing.quantizers())
    if (one.from_data) names.insert(one.value().name());
  show(graph_, names);
  if (device == "cpu" && has_engine_kernels()) {
    use_engine(observing);
  } else {
    use_executor(observing, device);
    tips_ = tips_of(graph_, names);
  }
}

void FloatRun::use_engine(const Observing& observing) {
  run_passes(graph_, engine_passes());
  EngineOptions options;
  std::map<std::string, std::vector<const ObservedQuantizer*>> watched;
  for (const ObservedQuantizer& one : observing.quantizers())
    if (one.from_data) watched[one.value().name()].push_back(&one);
  for (const auto& [name, quantizers] : watched) {
    const bool per_tensor = std::all_of(quantizers.begin(), quantizers.end(), [](const ObservedQuantizer* one) {
      return one->observer->scheme().per_tensor();
    });
    options.watches.push_back({name, per_tensor, [quantizers](const at::Tensor& x) {
                                 for (const ObservedQuantizer* one : quantizers) one->observe(x);
                               }});
  }
  engine_ = std::make_unique<Engine>(graph_, std::move(options));
}

void FloatRun::use_executor(const Observing& observing, const std::string& device) {
  optimize_for_running(graph_, device);
  ExecOptions exec;
  exec.device = device;
  exec.channels_last = true;
  executor_ = std::make_unique<Executor>(graph_, exec);
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (!one.from_data) continue;
    executor_->on_value(one.value().name(), [quantizer = &one](const Value&, RtValue& result) {
      quantizer->observe(result.tensor());
      return Next::kContinue;
    });
  }
}

void FloatRun::run(const NamedValues& inputs) {
  if (executor_) return void(executor_->run(inputs, tips_));
  std::vector<RtValue> given;
  for (const Value* input : graph_.inputs()) {
    const auto at = inputs.find(input->name());
    QUENCH_CHECK(at != inputs.end(), "the data has no input '", input->name(), "'");
    given.push_back(at->second);
  }
  engine_->run(given);
}

}  // namespace quench

#include "calibrate/float_run.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "quench/error.h"
#include "quench/observer.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// As graph outputs the watched values keep their names, and no fusion swallows them.
void show(Graph& graph, const std::set<std::string>& names) {
  graph.clear_outputs();
  for (const std::string& name : names)
    if (const Value& value = graph.value(name); !value.is_input() && !value.is_constant())
      graph.add_output(graph.value(name));
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

// One for each value: those that watch the same one take turns.
std::vector<Watch> by_value(const std::vector<Watch>& watches) {
  std::map<std::string, std::vector<Watch>> found;
  for (const Watch& watch : watches) found[watch.value].push_back(watch);
  std::vector<Watch> joined;
  for (const auto& [value, all] : found) {
    const bool any_order = std::all_of(all.begin(), all.end(), [](const Watch& one) { return one.any_order; });
    joined.push_back({value, any_order, [all](const at::Tensor& x) {
                        for (const Watch& one : all) one.see(x);
                      }});
  }
  return joined;
}

}  // namespace

std::vector<Watch> watches_of(const Observing& observing) {
  std::vector<Watch> watches;
  for (const ObservedQuantizer& one : observing.quantizers()) {
    if (!one.from_data) continue;
    const bool per_tensor = one.observer->scheme().per_tensor();
    watches.push_back(
        {one.value().name(), per_tensor, [quantizer = &one](const at::Tensor& x) { quantizer->observe(x); }});
  }
  return watches;
}

std::set<std::string> quantized_values(const Graph& graph) {
  std::set<std::string> names;
  for (const Node* quantizer : quantizers_of(graph))
    if (fake_quant_spec(*quantizer).role == Role::kActivation) names.insert(quantizer->input(0)->name());
  return names;
}

FloatRun::FloatRun(const Graph& graph, const std::vector<Watch>& watches, const std::string& device)
    : graph_(without_quantizers(graph)) {
  std::set<std::string> names, shown = quantized_values(graph);
  for (const Watch& watch : watches) names.insert(watch.value);
  shown.insert(names.begin(), names.end());
  show(graph_, shown);
  if (device == "cpu" && has_engine_kernels()) {
    use_engine(by_value(watches));
  } else if (device == "cpu") {
    use_executor(watches);
    tips_ = tips_of(graph_, names);
  } else {
    use_gpu(by_value(watches), device);
  }
}

void FloatRun::use_engine(const std::vector<Watch>& watches) {
  run_passes(graph_, engine_passes());
  EngineOptions options;
  for (const Watch& watch : watches)
    (graph_.value(watch.value).is_constant() ? constants_ : options.watches).push_back(watch);
  engine_ = std::make_unique<Engine>(graph_, std::move(options));
}

void FloatRun::use_gpu(const std::vector<Watch>& watches, const std::string& device) {
  optimize_for_running(graph_, device);
  ExecOptions exec;
  exec.device = device;
  exec.channels_last = true;
  executor_ = std::make_unique<Executor>(graph_, exec);
  std::vector<std::string> names;
  for (const Watch& watch : watches) names.push_back(watch.value);
  replayed_ = std::make_unique<ReplayedRun>(*executor_, names);
  watched_ = watches;
}

void FloatRun::use_executor(const std::vector<Watch>& watches) {
  optimize_for_running(graph_, "cpu");
  ExecOptions exec;
  exec.channels_last = true;
  executor_ = std::make_unique<Executor>(graph_, exec);
  for (const Watch& watch : watches)
    executor_->on_value(watch.value, [see = watch.see](const Value&, RtValue& result) {
      see(result.tensor());
      return Next::kContinue;
    });
}

void FloatRun::run(const NamedValues& inputs) {
  if (replayed_) {
    const NamedValues results = replayed_->run(inputs);
    std::vector<at::Tensor> seen;
    for (const Watch& watch : watched_) seen.push_back(results.at(watch.value).tensor());
    ahead_.look(seen);
    for (std::size_t i = 0; i < seen.size(); ++i) watched_[i].see(seen[i]);
    ahead_.forget();
    return;
  }
  if (executor_) return void(executor_->run(inputs, tips_));
  engine_->run(in_order(inputs));
  for (const Watch& watch : constants_) watch.see(graph_.value(watch.value).tensor());
}

void FloatRun::run_each(const std::vector<NamedValues>& batches) {
  if (!engine_) {
    for (const NamedValues& inputs : batches) run(inputs);
    return;
  }
  std::vector<std::vector<RtValue>> given;
  for (const NamedValues& inputs : batches) given.push_back(in_order(inputs));
  engine_->run_each(given);
  for (std::size_t i = 0; i < batches.size(); ++i)
    for (const Watch& watch : constants_) watch.see(graph_.value(watch.value).tensor());
}

std::vector<RtValue> FloatRun::in_order(const NamedValues& inputs) const {
  std::vector<RtValue> given;
  for (const Value* input : graph_.inputs()) {
    const auto at = inputs.find(input->name());
    QUENCH_CHECK(at != inputs.end(), "the data has no input '", input->name(), "'");
    given.push_back(at->second);
  }
  return given;
}

}  // namespace quench

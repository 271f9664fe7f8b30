// The engine of a build without oneDNN: the executor. Compiled only with -DQUENCH_ONEDNN=OFF.
#include <ATen/ATen.h>

#include "engine/simd/byte_loops.h"
#include "quench/engine.h"

namespace quench {

struct Engine::State {
  State(const Graph& of, EngineOptions with) : graph(of), options(std::move(with)), executor(graph) {
    for (const Watch& watch : options.watches)
      executor.on_value(watch.value, [see = watch.see](const Value&, RtValue& value) {
        see(value.tensor());
        return Next::kContinue;
      });
  }
  Graph graph;
  EngineOptions options;
  Executor executor;
};

Engine::Engine(const Graph& graph, EngineOptions options)
    : state_(std::make_unique<State>(graph, std::move(options))) {}
Engine::~Engine() = default;

std::vector<RtValue> Engine::run(const std::vector<RtValue>& inputs) {
  std::vector<RtValue> outputs = state_->executor.run(inputs);
  return state_->options.watches.empty() ? outputs : std::vector<RtValue>();
}

std::vector<std::vector<RtValue>> Engine::run_each(const std::vector<std::vector<RtValue>>& batches) {
  std::vector<std::vector<RtValue>> results;
  for (const std::vector<RtValue>& inputs : batches) results.push_back(run(inputs));
  return results;
}

std::vector<EngineStep> Engine::steps() const {
  std::vector<EngineStep> steps;
  for (const auto& node : state_->graph.nodes()) steps.push_back({node->name(), node->op(), "executor", 0.0});
  return steps;
}

std::int64_t Engine::weight_bytes() const {
  std::int64_t bytes = 0;
  for (const Value* constant : state_->graph.constants())
    bytes += static_cast<std::int64_t>(constant->tensor().nbytes());
  return bytes;
}

std::int64_t Engine::arena_bytes() const { return 0; }
int Engine::part() const { return 0; }

bool has_integer_kernels(const Graph&) { return false; }
bool has_engine_kernels() { return false; }
bool has_byte_loops() { return false; }

}  // namespace quench

#include "reconstruct/rest_of_network.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <set>

#include "quench/error.h"

namespace quench {
namespace {

// What the rest of the network reads that no later unit makes.
std::vector<std::string> read_behind(const std::vector<Unit>& units, std::size_t unit, bool shared) {
  std::set<std::string> read, made;
  for (std::size_t i = unit + 1; i < units.size(); ++i) {
    const auto& inputs = shared ? units[i].shared_inputs : units[i].inputs;
    const auto& outputs = shared ? units[i].shared_outputs : units[i].outputs;
    read.insert(inputs.begin(), inputs.end());
    made.insert(outputs.begin(), outputs.end());
  }
  if (!shared) read.erase(units[unit].output());
  std::vector<std::string> names;
  for (const std::string& name : read)
    if (!made.contains(name)) names.push_back(name);
  return names;
}

std::vector<std::string> float_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs())
    if (output->dtype() == DType::kFloat) names.push_back(output->name());
  return names;
}

// Those that later units make, and the unit's own. What earlier ones made does not change.
std::vector<std::string> outputs_behind(const Graph& graph, const std::vector<Unit>& units, std::size_t unit) {
  std::set<std::string> behind;
  for (std::size_t i = unit + 1; i < units.size(); ++i) behind.insert(units[i].nodes.begin(), units[i].nodes.end());
  std::vector<std::string> names = float_outputs(graph);
  std::erase_if(names, [&](const std::string& name) {
    const Node* maker = graph.value(name).producer();
    return name != units[unit].output() && !(maker && behind.contains(maker->name()));
  });
  return names;
}

}  // namespace

RestOfNetwork::RestOfNetwork(const Streams& streams, std::size_t unit, Executor& executor)
    : streams_(streams),
      unit_(unit),
      executor_(executor),
      outputs_(outputs_behind(executor.graph(), streams.units(), unit)),
      rows_(read_behind(streams.units(), unit, false)),
      shared_(read_behind(streams.units(), unit, true)) {}

std::size_t RestOfNetwork::outputs_of_all() const { return float_outputs(executor_.graph()).size(); }

at::Tensor RestOfNetwork::target(std::int64_t first, std::int64_t count) const {
  return streams_.plain().store(streams_.units()[unit_].output()).get(first, count);
}

void check_predicts(const Graph& network) {
  const std::vector<std::string> names = float_outputs(network);
  const std::string needs =
      "the option 'prediction' needs logits, a network with one float output of the shape [items, classes]; this one ";
  QUENCH_CHECK(names.size() == 1, needs, "has ", names.size(), " float outputs");
  const Value& output = network.value(names[0]);
  QUENCH_CHECK(!output.has_rank() || output.rank() == 2, needs, "has '", names[0], "' with ", output.rank(), " axes");
}

std::unique_ptr<RowStore> prediction_of(RestOfNetwork& rest, const Streams& streams, RowPool& pool) {
  QUENCH_CHECK(rest.outputs_of_all() == 1, "the network has ", rest.outputs_of_all(),
               " float outputs: a prediction is one");
  std::unique_ptr<RowStore> store;
  streams.for_chunks([&](std::int64_t first, std::int64_t rows) {
    const NamedValues outputs = rest.run(rest.target(first, rows), first, rows);
    const at::Tensor y = outputs.begin()->second.tensor().detach();
    if (!store) store = pool.make(streams.items(), y);
    store->put(first, y);
  });
  return store;
}

}  // namespace quench

#include "reconstruct/work_of_units.h"

#include "measure/model_summary.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// An element that a node gives is read and written a few times, which takes as long as about this many of its sums.
constexpr double kSumsPerElement = 100;

double work_of(const Node& node) {
  const OpEntry* entry = OpRegistry::instance().find(node.op());
  const std::int64_t macs = entry && entry->traits.macs ? entry->traits.macs(node) : 0;
  double work = macs > 0 ? static_cast<double>(macs) : 0;
  for (const Value* output : node.outputs()) {
    if (!output || !output->has_rank()) continue;
    double elements = 1;
    for (const Dim& dim : output->dims()) elements *= dim.is_number() ? static_cast<double>(dim.number()) : 1;
    work += elements * kSumsPerElement;
  }
  return work;
}

std::map<std::string, double> work_of_nodes(const Graph& graph) {
  std::map<std::string, double> work;
  try {
    const Graph bound = bind_dims(graph, {});
    for (const auto& node : bound.nodes()) work[node->name()] = work_of(*node);
  } catch (const Error&) {  // no size fits all operators: it is an estimate only
    work.clear();
  }
  return work;
}

}  // namespace

std::map<std::string, double> work_of_units(const Graph& graph, const std::vector<Unit>& units) {
  const std::map<std::string, double> of_node = work_of_nodes(graph);
  std::map<std::string, double> work;
  double sum = 0;
  for (const Unit& unit : units) {
    if (!unit.learns()) continue;
    double& of_unit = work[unit.name];
    for (const std::string& node : unit.nodes)
      if (const auto found = of_node.find(node); found != of_node.end()) of_unit += found->second;
    sum += of_unit;
  }
  for (auto& [name, of_unit] : work) of_unit = sum > 0 ? of_unit * static_cast<double>(work.size()) / sum : 1;
  return work;
}

}  // namespace quench

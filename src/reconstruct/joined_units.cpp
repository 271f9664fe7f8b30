#include "reconstruct/joined_units.h"

#include <algorithm>
#include <set>

namespace quench {

namespace {

// What was computed in float and is given in another type is compared as it was computed.
const Value* before_casts(const Value* value) {
  while (value->dtype() != DType::kFloat && value->producer() && value->producer()->op() == "Cast")
    value = value->producer()->input(0);
  return value;
}

}  // namespace

Unit joined_units(const std::vector<Unit>& units, const Graph& graph) {
  Unit all;
  all.name = "network";
  std::set<std::string> made;
  const auto add = [&](std::vector<std::string>& to, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (!made.contains(name) && std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  for (const Unit& unit : units) {
    all.nodes.insert(all.nodes.end(), unit.nodes.begin(), unit.nodes.end());
    all.layers.insert(all.layers.end(), unit.layers.begin(), unit.layers.end());
    add(all.inputs, unit.inputs);
    add(all.shared_inputs, unit.shared_inputs);
    for (const auto* names : {&unit.outputs, &unit.shared_outputs}) made.insert(names->begin(), names->end());
  }
  for (const Value* output : graph.outputs()) all.outputs.push_back(before_casts(output)->name());
  all.comparable = std::any_of(units.begin(), units.end(),
                               [&](const Unit& unit) { return unit.comparable && unit.outputs == all.outputs; });
  return all;
}

}  // namespace quench

#include "platforms/plan/plan_state.h"

#include "platforms/plan/known_functions.h"
#include "platforms/plan/layers.h"
#include "platforms/plan/match.h"
#include "platforms/plan/stubs.h"
#include "quench/error.h"

namespace quench {

PlanState::PlanState(const Graph& the_graph, const std::string& name, const QuantConfig& the_config)
    : graph(the_graph), platform_name(quench::platform_name(name)), platform(find_platform(name)), config(the_config) {
  QUENCH_CHECK(!config.parity || platform.has_parity, "platform '", platform_name,
               "' re-creates no reference implementation: it takes no 'parity'");
  options = config.platform_options.checked(platform.options, concat("platform '", platform_name, "'"));
  check_names(graph, config);
  for (const LayerRule& rule : config.layers)
    QUENCH_CHECK(!rule.keep_float || (rule.weight.empty() && rule.activation.empty() && rule.output.empty()),
                 "the rule {", rule.text(),
                 "} leaves its layers in float and also says how to quantize them; drop one of the two");
  layers = find_layers(graph, groups_of(platform, config), config);
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (const Node* node : layers[i].nodes) layer_index[node] = i;
  constants = constant_values(graph);
  outside = nodes_outside_stubs(graph);
  functions = known_functions(graph);
}

PlanRequest& PlanState::request(const Layer& layer, const Value& value, Role role, const std::string& rule) {
  auto [at, fresh] = requests.try_emplace(&value);
  if (fresh) {
    at->second.value = &value;
    at->second.layer = &layer;
    at->second.entry.value = value.name();
    at->second.entry.role = role;
    at->second.entry.rule = rule;
  }
  return at->second;
}

}  // namespace quench

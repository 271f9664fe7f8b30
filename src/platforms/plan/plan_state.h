// What a PlanBuilder holds: the graph as the platform sees it, and what was asked for so far.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

struct PlanRequest {
  PlanEntry entry;
  const Value* value = nullptr;
  const Layer* layer = nullptr;  // the first that asked
  bool ruled = false;            // a rule of the user's changed it
  QuantSettings asked = {};      // what such rules said, later ones over earlier ones
};

struct PlanState {
  PlanState(const Graph& graph, const std::string& platform, const QuantConfig& config);

  // The request for a value: the first one's, where there was one already.
  PlanRequest& request(const Layer& layer, const Value& value, Role role, const std::string& rule);

  const Graph& graph;
  std::string platform_name;
  const Platform& platform;
  const QuantConfig& config;
  Options options;
  std::vector<Layer> layers;
  std::map<const Node*, std::size_t> layer_index;
  std::set<const Value*> constants;
  std::set<const Node*> outside;  // of what lies between QuantStub and DeQuantStub
  std::map<const Value*, PlanRequest> requests;
  std::vector<std::pair<const Node*, PlanEntry>> derived;  // biases in int32, by layer
  std::map<const Value*, std::string> reasons;             // why a value stays float
  std::map<const Node*, std::string> functions;            // known_functions.h
};

// Lays the user's settings and rules over the platform's defaults, and gives each request its quantizer. Throws for a
// rule that matches nothing or changes nothing.
void resolve_settings(const PlanBuilder& plan, PlanState& state);

}  // namespace quench

// The names by which a user may refer to a layer.
#pragma once

#include "quench/plan_builder.h"

namespace quench {

bool matches_glob(const std::string& text, const std::string& pattern);  // * and ?

// The node's name, the name of its output, or its module's path: its weight's name without ".weight".
std::vector<std::string> names_of(const Node& node);
bool is_named(const Node& node, const std::string& name);  // one of them is `name`
// One of them is `name` or begins with "name." or "name/" (or "/name/"): the node is inside that module.
bool is_inside(const Node& node, const std::string& name);

// Throws if a node, module or operator that the user adds, excludes or fuses does not exist, with the nearest name.
void check_names(const Graph& graph, const QuantConfig& config);

bool matches(const Layer& layer, const LayerRule& rule);  // any node of it

}  // namespace quench

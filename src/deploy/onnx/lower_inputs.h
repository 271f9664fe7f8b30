// Inputs that an older opset has as attributes: they must be constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Throws, naming what the input is for, when its elements are not known.
std::vector<std::int64_t> constant_integers(const Node& node, int slot, const std::string& what);
double constant_number(const Node& node, int slot, const std::string& what);
// Moves the input, where present, to an attribute of that name.
void integers_to_attr(Graph& graph, Node& node, int slot, const std::string& attr);
void number_to_attr(Graph& graph, Node& node, int slot, const std::string& attr);

}  // namespace quench

// How long a step of each unit takes, compared with the others: for the time that is left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quench/reconstruct.h"

namespace quench {

// By the name of each unit that learns, 1 on average; an estimate from shapes, 1 where these are not known.
std::map<std::string, double> work_of_units(const Graph& graph, const std::vector<Unit>& units);

}  // namespace quench

// Parts of a graph that compute a function of one value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Nodes between one value and the output of the last of them; all else that they read is constants.
struct OneInputRegion {
  const Value* x = nullptr;
  std::vector<const Node*> nodes;  // the last one first, each behind all that read it
};

// Those of arithmetic, functions and means that end in `end`, the smallest first. `order`: places of the nodes.
std::vector<OneInputRegion> regions_before(const Node& end, const std::map<const Node*, std::size_t>& order);

// "a GELU", "a SiLU", "a LayerNorm", "an RMSNorm" if that is what the region computes; else "".
std::string function_of(const OneInputRegion& region);

}  // namespace quench

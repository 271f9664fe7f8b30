// The whole conversion of a graph.
#pragma once

#include <map>
#include <string>

#include "convert/fuse_layer.h"
#include "quench/convert.h"

namespace quench {

struct ConvertedGraph {
  Graph graph;
  std::map<std::string, std::string> codes;  // what a quantizer of an activation gave -> the value of its codes
  ConvertRecord record;
};

// Of a graph with calibrated quantizers, weights constants (convert/ready.h makes it so).
ConvertedGraph convert_graph(const Graph& quantized, const FuseOptions& options);

}  // namespace quench

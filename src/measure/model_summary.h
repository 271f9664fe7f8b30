// What `quench inspect` shows: one row per node (shapes, parameters, multiply-accumulates) and the totals.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

struct NodeSummary {
  std::string name, op;
  std::vector<std::string> outputs;  // types: "float[N, 64, 32, 32]"
  std::int64_t parameters = 0;       // elements of the weights that are used here for the first time
  std::int64_t macs = -1;            // -1: not known; operators that do no such work have 0
  bool supported = true;
};

struct ValueSummary {
  std::string name, type;
};

using DimBindings = std::map<std::string, std::int64_t>;

struct ModelSummary {
  std::vector<ValueSummary> inputs, outputs;
  std::vector<NodeSummary> nodes;  // those of bodies (If, Loop) follow their node, as "outer/inner"
  std::map<std::string, std::int64_t> op_counts;
  std::map<std::string, std::int64_t> unsupported;  // operator -> how many nodes
  std::int64_t parameters = 0;
  std::int64_t macs = 0;            // of the nodes where it is known
  std::int64_t macs_unknown = 0;    // nodes that work but do not say how much
  std::int64_t constant_bytes = 0;  // of all constants, as stored in a file
  DimBindings dims;                 // the sizes that MACs are for: every symbol of the inputs; empty if no size fits
};

// Types are shown as the graph has them. MACs are for the dims of the inputs with `dims` put in for symbols, and
// fitting_dims() for those that are not given.
ModelSummary summarize(const Graph& graph, const DimBindings& dims = {});

// The names of the symbols in the inputs' types, in order.
std::vector<std::string> input_symbols(const Graph& graph);
// `dims` and, for the symbols that are not given, 1 (for the batch) or the least power of two that every operator
// takes. Throws the operators' error if none does.
DimBindings fitting_dims(const Graph& graph, const DimBindings& dims);
// A copy whose inputs have numbers in place of symbols (fitting_dims() where not given), types inferred again. Throws
// for a name in `dims` that is not a symbol of the inputs.
Graph bind_dims(const Graph& graph, const DimBindings& dims);

}  // namespace quench

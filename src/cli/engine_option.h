// --engine: as which network a quantized model runs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "quench/graph.h"

namespace quench {

void add_engine_option(CLI::App& command, std::string& engine);

// The network that the engine stands for: a quantized model in float, in the simulation of its integers, or in
// integers. "": as the file is.
Graph graph_for(const std::string& engine, Graph graph);

}  // namespace quench

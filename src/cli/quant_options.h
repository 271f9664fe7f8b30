// What `plan`, `quantize` and `inspect --why` are told about quantizing: platform, config file, settings.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/plan.h"
#include "quench/quant_config.h"

namespace CLI {
class App;
}

namespace quench {

struct QuantArguments {
  std::string platform;
  bool parity = false;
};

void add_quant_options(CLI::App& command, QuantArguments& arguments);
QuantConfig quant_config_of(const QuantArguments& arguments);

// Fuses a copy of the graph and plans for it.
QuantPlan plan_model(const Graph& graph, const QuantConfig& config);

// A plan's file, or a quantized model, which holds its plan.
QuantPlan read_plan_of(const std::string& path);
// The plan in the model's metadata; throws where there is none.
QuantPlan plan_inside(const Graph& graph);

}  // namespace quench

// What `plan`, `quantize` and `inspect --why` are told about quantizing: platform, config file, settings.
#pragma once

#include <string>
#include <vector>

#include "quench/config.h"
#include "quench/graph.h"
#include "quench/plan.h"

namespace CLI {
class App;
}

namespace quench {

struct QuantArguments {
  std::string platform, config, bits;
  std::vector<std::string> set, cfg_options;  // "a.b=c"
  bool parity = false;
};

void add_quant_options(CLI::App& command, QuantArguments& arguments);
bool says_something(const QuantArguments& arguments);
// The config file, overridden by --set, then by the other options. The platform is checked if it is named.
JobConfig job_of(const QuantArguments& arguments);
// --cfg-options takes all words up to the next option, the model's name too: gives that back.
void take_back_model(QuantArguments& arguments, std::string& model);
// Of a job that must name a platform.
JobConfig planning_job_of(const QuantArguments& arguments);

// Fuses a copy of the graph and plans for it.
QuantPlan plan_model(const Graph& graph, const JobConfig& job);

// A plan's file, or a quantized model, which holds its plan.
QuantPlan read_plan_of(const std::string& path);

}  // namespace quench

#include "cli/quant_options.h"

#include <CLI/CLI.hpp>

#include "data/read_file.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/platform.h"
#include "quench/prepare.h"

namespace quench {
namespace {

constexpr std::uintmax_t kLargestPlan = std::uintmax_t{1} << 28;

}  // namespace

void add_quant_options(CLI::App& command, QuantArguments& arguments) {
  command.add_option("--platform", arguments.platform, "the target ('quench list platforms')")->type_name("NAME");
  command.add_flag("--parity", arguments.parity, "exactly as the platform's reference implementation does it");
}

QuantConfig quant_config_of(const QuantArguments& arguments) {
  QuantConfig config;
  config.platform = arguments.platform;
  config.parity = arguments.parity;
  QUENCH_CHECK(!config.platform.empty(), "no platform: give --platform NAME ('quench list platforms' shows them)");
  config.platform = platform_name(config.platform);
  return config;
}

QuantPlan plan_model(const Graph& graph, const QuantConfig& config) {
  Graph fused = graph;
  fuse_for_quantizing(fused, config, NormMode::kFold);
  return make_plan(fused, config);
}

QuantPlan plan_inside(const Graph& graph) {
  const auto at = graph.metadata.find("quench.plan");
  QUENCH_CHECK(at != graph.metadata.end(), "the model holds no plan: it was not written by 'quench quantize'");
  return plan_from_yaml(at->second, "inside " + graph.source.path);
}

QuantPlan read_plan_of(const std::string& path) {
  if (path.ends_with(".onnx")) return plan_inside(import_model(path));
  const std::vector<std::uint8_t> bytes = read_file(path, kLargestPlan);
  return plan_from_yaml({bytes.begin(), bytes.end()}, path);
}

}  // namespace quench

#include "cli/quant_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "data/read_file.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/platform.h"
#include "quench/prepare.h"

namespace quench {
namespace {

constexpr std::uintmax_t kLargestPlan = std::uintmax_t{1} << 28;

// "w4a8": bits of weights and activations.
void set_bits(const std::string& text, QuantConfig& config) {
  int weight = 0, activation = 0, end = 0;
  const bool fits = std::sscanf(text.c_str(), "w%da%d%n", &weight, &activation, &end) == 2 &&
                    end == static_cast<int>(text.size()) && weight > 0 && activation > 0;
  QUENCH_CHECK(fits, "--bits must look like w4a8 (bits of weights, bits of activations), not '", text, "'");
  config.weight.bits = weight;
  config.activation.bits = activation;
}

}  // namespace

void add_quant_options(CLI::App& command, QuantArguments& arguments) {
  command.add_option("--platform", arguments.platform, "the target ('quench list platforms')")->type_name("NAME");
  command
      .add_option("--config", arguments.config, "YAML or JSON (docs/config.md); MQBench's and mmrazor's are read too")
      ->type_name("FILE");
  command.add_option("--set", arguments.set, "override one setting of the config: a.b=c; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--cfg-options", arguments.cfg_options, "the same, several at once, as in mmrazor")
      ->type_name("KEY=VALUE ...");
  command
      .add_option("--bits", arguments.bits,
                  "bits of weights and activations, such as w4a8, where the platform leaves the choice")
      ->type_name("BITS");
  command.add_flag("--parity", arguments.parity, "exactly as the platform's reference implementation does it");
}

bool says_something(const QuantArguments& arguments) {
  return !arguments.platform.empty() || !arguments.config.empty() || !arguments.bits.empty() ||
         !arguments.set.empty() || !arguments.cfg_options.empty() || arguments.parity;
}

void take_back_model(QuantArguments& arguments, std::string& model) {
  std::vector<std::string>& words = arguments.cfg_options;
  if (!model.empty() || words.empty() || words.back().find('=') != std::string::npos) return;
  model = words.back();
  words.pop_back();
}

JobConfig job_of(const QuantArguments& arguments) {
  std::vector<std::string> settings = arguments.set;
  settings.insert(settings.end(), arguments.cfg_options.begin(), arguments.cfg_options.end());
  JobConfig job = arguments.config.empty() ? config_from_text("version: 1", settings, "the command line")
                                           : read_config(arguments.config, settings);
  if (!arguments.platform.empty()) job.quant.platform = arguments.platform;
  if (arguments.parity) job.quant.parity = true;
  if (!arguments.bits.empty()) set_bits(arguments.bits, job.quant);
  if (!job.quant.platform.empty()) job.quant.platform = platform_name(job.quant.platform);
  return job;
}

JobConfig planning_job_of(const QuantArguments& arguments) {
  JobConfig job = job_of(arguments);
  QUENCH_CHECK(!job.quant.platform.empty(), "no platform: give --platform NAME ('quench list platforms' shows them)");
  return job;
}

QuantPlan plan_model(const Graph& graph, const JobConfig& job) {
  Graph fused = graph;
  fuse_for_quantizing(fused, job.quant, NormMode::kFold);
  return make_plan(fused, job);
}

QuantPlan read_plan_of(const std::string& path) {
  if (path.ends_with(".onnx")) return plan_in(import_model(path));
  const std::vector<std::uint8_t> bytes = read_file(path, kLargestPlan);
  return plan_from_yaml({bytes.begin(), bytes.end()}, path);
}

}  // namespace quench

#include "quench/deploy.h"

#include "calibrate/float_run.h"
#include "deploy/export_check.h"
#include "deploy/ready.h"
#include "deploy/reference_nodes.h"
#include "quench/error.h"
#include "quench/plan.h"
#include "quench/platform.h"

namespace quench {
namespace {

QuantPlan plan_of(const Graph& graph) {
  const auto text = graph.metadata.find("quench.plan");
  QUENCH_CHECK(text != graph.metadata.end(),
               "the model carries no plan: 'quench quantize' on the float model makes one (files that another tool "
               "quantized are run, not deployed)");
  return plan_from_yaml(text->second);
}

// The platform to deploy for. Another than the plan's must be able to run what the plan says.
std::string chosen_platform(const Graph& graph, QuantPlan plan, const std::string& asked) {
  QUENCH_CHECK(!plan.platform.empty() || !asked.empty(), "the plan names no platform; give one (--platform)");
  const std::string platform = platform_name(asked.empty() ? plan.platform : asked);
  if (plan.platform.empty() || platform != platform_name(plan.platform)) {
    const std::string from = plan.platform;
    plan.platform = platform;
    with_context([&] { return concat("while deploying a plan for '", from, "' to '", platform, "'"); },
                 [&] { check_plan(without_quantizers(graph), plan); });
  }
  return platform;
}

const Exporter& exporter_of(const std::string& platform) {
  const std::string& product = find_platform(platform).product;
  QUENCH_CHECK(!product.empty(), "platform '", platform,
               "' has no target of its own, and so no files; another platform's are made with --platform");
  return ExporterRegistry::instance().get(product);
}

void check_names(const Deployment& deployment) {
  for (const DeployFile& file : deployment.files)
    QUENCH_CHECK(file.name.find('/') == std::string::npos, "'", file.name, "' is no file name");
}

}  // namespace

Deployment deploy(const Graph& quantized, const DeployOptions& options) {
  QUENCH_CHECK(!options.name.empty() && options.name[0] != '.' && options.name.find('/') == std::string::npos, "'",
               options.name,
               "' cannot be the name of the deployed files: it must not be empty, begin with a dot "
               "or hold a slash");
  const QuantPlan plan = plan_of(quantized);
  Deployment result;
  result.platform = chosen_platform(quantized, plan, options.platform);
  const Exporter& exporter = exporter_of(result.platform);
  const std::string product = find_platform(result.platform).product;
  const Graph ready = with_context([] { return "while deploying"; }, [&] { return ready_for_deployment(quantized); });
  const DeployJob job{ready,        result.platform,
                      options.name, options.opset,
                      plan.parity,  options.exporter.checked(exporter.options, concat("exporter '", product, "'"))};
  with_context([&] { return concat("while deploying to '", result.platform, "'"); },
               [&] {
                 add_reference_model(job, result);
                 exporter.write(job, result);
                 check_export(ready, options.data, result);
               });
  check_names(result);
  return result;
}

}  // namespace quench

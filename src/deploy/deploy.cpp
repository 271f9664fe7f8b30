#include "quench/deploy.h"

#include <algorithm>

#include "convert/ready.h"
#include "core/joined.h"
#include "deploy/export_check.h"
#include "deploy/forms/float32_io.h"
#include "deploy/forms/reference_nodes.h"
#include "platforms/plan/platform_of_model.h"
#include "plugin/recorded_plugins.h"
#include "quench/error.h"
#include "quench/platform.h"

namespace quench {
namespace {

// The platform to deploy for. One other than the plan's must be able to run the plan.
std::string chosen_platform(const QuantizedModel& model, const std::string& asked) {
  QuantPlan plan = model.plan;
  QUENCH_CHECK(!plan.platform.empty() || !asked.empty(), "the plan names no platform; name one");
  const std::string own = plan.platform.empty() ? "" : platform_name_of(model);
  const std::string platform = asked.empty() ? own : platform_name(asked);
  if (platform != own) {
    const std::string from = plan.platform;
    plan.platform = platform;
    with_context([&] { return concat("while deploying a plan for '", from, "' to '", platform, "'"); },
                 [&] { check_plan(without_quantizers(model.graph), plan); });
  }
  return platform;
}

const Exporter& exporter_of(const std::string& platform) {
  const std::string reason = why_no_files(platform);
  QUENCH_CHECK(reason.empty(), reason);
  return ExporterRegistry::instance().get(find_platform(platform).product);
}

// How and from which files a model was made is not for those that it is shipped to; the plan is: it says what Q/DQ
// pairs cannot.
Graph ready_for(const QuantizedModel& model, const Exporter& exporter, std::vector<std::string>& notes) {
  Graph graph = ready_for_deployment(model);
  graph.metadata.erase("quench.format");
  graph.metadata.erase("quench.record");
  forget_plugins(graph.metadata);
  if (exporter.io == IoTypes::kModel) return graph;
  if (const auto names = use_float32_io(graph); !names.empty())
    notes.push_back(joined_in_quotes(names) + ": float32 in these files, since the target takes no 16-bit floats");
  return graph;
}

void check_names(const Deployment& deployment) {
  for (const DeployFile& file : deployment.files)
    QUENCH_CHECK(file.name.find('/') == std::string::npos, "'", file.name, "' is not a file name");
}

}  // namespace

std::string why_no_files(const std::string& platform) {
  if (!find_platform(platform).product.empty()) return "";
  return concat(
      "platform '", platform_name(platform),
      "' has no target of its own, so there are no files for it; deploy for another platform that can run the plan");
}

const char* name_of(FileUse use) {
  switch (use) {
    case FileUse::kShip: return "ship";
    case FileUse::kInstead: return "instead";
    case FileUse::kReference: return "reference";
  }
  return "";
}

Deployment deploy(const QuantizedModel& model, const DeployOptions& options) {
  const auto is_control = [](unsigned char byte) { return byte < ' ' || byte == 0x7F; };
  QUENCH_CHECK(!options.name.empty() && options.name[0] != '.' && options.name.find('/') == std::string::npos &&
                   std::none_of(options.name.begin(), options.name.end(), is_control),
               "'", options.name,
               "' cannot be the name of the deployed files: it must not be empty, begin with a dot, or hold a slash "
               "or a control character such as a line break");
  QUENCH_CHECK(model.stage != ModelStage::kConverted,
               "the model is converted: deploy the calibrated model that it was made from");
  Deployment result;
  result.platform = chosen_platform(model, options.platform);
  const Exporter& exporter = exporter_of(result.platform);
  const std::string product = find_platform(result.platform).product;
  const Graph ready =
      with_context([] { return "while deploying"; }, [&] { return ready_for(model, exporter, result.notes); });
  const DeployJob job{
      ready,         result.platform,   options.name,
      options.opset, model.plan.parity, options.exporter.checked(exporter.options, concat("exporter '", product, "'"))};
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

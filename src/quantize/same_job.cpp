#include "quantize/same_job.h"

#include "core/hash.h"
#include "distributed/check_same.h"
#include "distributed/device_kind.h"
#include "quench/error.h"

namespace quench {
namespace {

std::string size_text(const char* name, const Dataset* data) {
  return concat(name, " data: ", data ? concat(data->size(), " items") : "none", "\n");
}

std::string data_text(const QuantizeData& data) {
  return size_text("calibration", data.calib) + size_text("training", data.train) +
         size_text("validation", data.validation) + size_text("evaluation", data.eval);
}

// Their text is long: a checksum says that they differ.
std::string checksum_text(const char* name, const std::string& text) {
  return concat(name, " with checksum ", stable_hash(text), "\n");
}

}  // namespace

std::string text_of_job(JobConfig config) {
  config.plugins.clear();
  config.model.clear();
  config.data = {};
  config.output.clear();
  config.deploy.folder.clear();
  config.metadata.erase("float_checkpoint");
  config.kept.clear();  // and notes: where in the config something stands, and its path
  config.notes.clear();
  config.calibration.workers = CalibrationOptions().workers;
  config.calibration.device = device_kind(config.calibration.device);
  if (!config.calibration.statistics.empty()) config.calibration.statistics = "kept";
  return to_yaml(config);
}

void check_same_job(const Graph& graph, const QuantizeData& data, const JobConfig& config,
                    const QuantizeOptions& options) {
  check_same(options.processes, "options", [&] {
    return concat(text_of_job(config), data_text(data), "resume: ", options.resume,
                  "\nstop_after: ", options.stop_after, "\n", checksum_text("a model", to_text(graph, {.data = false})),
                  options.plan ? checksum_text("a plan", to_yaml(*options.plan)) : "");
  });
}

}  // namespace quench

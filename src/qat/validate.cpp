#include "qat/validate.h"

#include <ATen/ATen.h>

#include <optional>

#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/pass.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// A copy with BatchNorm folded, as deploying does it. Evaluation puts its tensors where it wants them.
Graph as_deployed(const Graph& graph, bool quantized) {
  Graph copy = graph;
  run_passes(copy, {"fold_live_norms", "eliminate_dead"});
  if (!quantized) copy = without_quantizers(copy);
  for (Value* constant : copy.constants())
    copy.set_tensor(*constant, constant->tensor().detach().cpu(), constant->dtype());
  return copy;
}

std::vector<std::string> metrics_of(const TrainOptions& options) {
  return options.metric.empty() ? std::vector<std::string>() : std::vector<std::string>{options.metric};
}

}  // namespace

double validation_score(const Graph& graph, const Dataset& data, const TrainOptions& options, bool quantized) {
  EvalOptions how;
  how.metrics = metrics_of(options);
  how.resamples = 0;  // an interval of every epoch costs time that nobody looks at
  how.workers = options.workers;
  how.device = options.device;
  how.optimize = true;
  how.processes = options.processes;
  how.reference = options.reference;
  std::optional<Graph> in_float;
  if (!how.reference && !how.metrics.empty()) how.reference = &in_float.emplace(as_deployed(graph, false));
  return evaluate(as_deployed(graph, quantized), data, how).metrics[0].score();
}

void check_validates(const Graph& graph, const Dataset& data, const TrainOptions& options) {
  QUENCH_CHECK(data.task() != Task::kNone || !options.metric.empty(),
               "the validation data has no labels: accuracy cannot be measured on it; leave it out, or name a metric");
  EvalOptions how;
  how.metrics = metrics_of(options);
  how.reference = &graph;  // there will be one
  check_evaluates(graph, data, how);
}

}  // namespace quench

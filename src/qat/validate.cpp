#include "qat/validate.h"

#include <ATen/ATen.h>

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

}  // namespace

double validation_score(const Graph& graph, const Dataset& data, const TrainOptions& options, bool quantized) {
  EvalOptions how;
  how.workers = options.workers;
  how.device = options.device;
  how.optimize = true;
  how.processes = options.processes;
  const EvalResult result = evaluate(as_deployed(graph, quantized), data, how);
  return result.task == Task::kNextToken ? -result.perplexity() : result.top1();
}

void check_validates(const Dataset& data) {
  QUENCH_CHECK(data.task() != Task::kNone,
               "the validation data has no labels: accuracy cannot be measured on it; leave it out");
}

}  // namespace quench

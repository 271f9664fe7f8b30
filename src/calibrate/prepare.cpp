#include "quench/prepare.h"

#include "quench/error.h"
#include "quench/pass.h"
#include "quench/platform.h"

namespace quench {

void fuse_for_quantizing(Graph& graph, const QuantConfig& config, NormMode norm) {
  std::vector<std::string> passes = {"infer_shapes", "fold_constants", "eliminate_dropout", "eliminate_identity",
                                     "fold_weights"};
  // A platform without groups (academic) quantizes the weights as they are: BatchNorm stays a layer of its own.
  if (norm == NormMode::kFold && !find_platform(config.platform).groups.empty()) passes.push_back("fold_batch_norm");
  passes.insert(passes.end(), {"eliminate_dead", "infer_shapes"});
  with_context([] { return "while fusing"; }, [&] { run_passes(graph, passes); });
}

Prepared prepare(const Graph& graph, const QuantConfig& config, const PrepareOptions& options) {
  Prepared result{graph, {}};
  fuse_for_quantizing(result.graph, config, options.norm);
  result.plan = options.plan ? *options.plan : make_plan(result.graph, config);
  insert_quantizers(result.graph, result.plan);
  return result;
}

Prepared prepare_by_platform(const Graph& graph, const std::string& platform, QuantConfig config,
                             const PrepareOptions& options) {
  config.platform = platform;
  return prepare(graph, config, options);
}

}  // namespace quench

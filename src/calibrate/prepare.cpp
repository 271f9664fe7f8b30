#include "quench/prepare.h"

#include "quench/error.h"
#include "quench/pass.h"
#include "quench/platform.h"

namespace quench {

namespace {

// A platform without groups (academic) quantizes the weights as they are: BatchNorm stays a layer of its own.
bool joins_norms(const QuantConfig& config) { return !find_platform(config.platform).groups.empty(); }

std::vector<std::string> fusing_passes(const QuantConfig& config, NormMode norm) {
  std::vector<std::string> passes = {"infer_shapes", "fold_constants", "eliminate_dropout", "eliminate_identity"};
  const auto then = [&](std::vector<std::string> more) { passes.insert(passes.end(), more.begin(), more.end()); };
  if (norm == NormMode::kFold) then({"fold_weights"});  // else they train
  then({"infer_shapes", "fuse_matmul_add"});
  if (norm == NormMode::kFrozen) then({"freeze_norms"});
  if (joins_norms(config)) {
    const Platform& platform = find_platform(config.platform);
    then({"recognise_frozen_norm"});
    if (norm == NormMode::kFold)
      then({"fold_batch_norm"});
    else if (platform.bias || platform.int32_bias)
      then({"add_norm_bias"});
  }
  then({"eliminate_dead", "infer_shapes"});
  return passes;
}

}  // namespace

void fuse_for_quantizing(Graph& graph, const QuantConfig& config, NormMode norm) {
  with_context([] { return "while fusing"; }, [&] { run_passes(graph, fusing_passes(config, norm)); });
}

Prepared prepare(const Graph& graph, const QuantConfig& config, const PrepareOptions& options) {
  Prepared result{graph, {}};
  fuse_for_quantizing(result.graph, config, options.norm);
  result.plan = options.plan ? *options.plan : make_plan(result.graph, config);
  insert_quantizers(result.graph, result.plan);
  if (options.norm != NormMode::kFold && joins_norms(config))
    run_passes(result.graph, {"make_norms_live", "infer_shapes"});
  return result;
}

Prepared prepare_by_platform(const Graph& graph, const std::string& platform, QuantConfig config,
                             const PrepareOptions& options) {
  config.platform = platform;
  return prepare(graph, config, options);
}

}  // namespace quench

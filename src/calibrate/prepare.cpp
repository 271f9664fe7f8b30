#include "quench/prepare.h"

#include "ops/integer_form.h"
#include "quantized/given_quantizers.h"
#include "quantized/insert_plan.h"
#include "quench/error.h"
#include "quench/pass.h"
#include "quench/platform.h"

namespace quench {
namespace {

// A platform without groups (academic) quantizes the weights as they are: BatchNorm stays a layer of its own.
bool joins_norms(const QuantConfig& config) { return !groups_of(find_platform(config.platform), config).empty(); }

std::vector<std::string> fusing_passes(const QuantConfig& config, NormMode norm) {
  std::vector<std::string> passes = {"infer_shapes"};
  const auto then = [&](std::vector<std::string> more) { passes.insert(passes.end(), more.begin(), more.end()); };
  if (norm == NormMode::kFold) then({"widen_to_float32", "infer_shapes"});  // else the tensors are their owner's
  then({"fold_constants", "eliminate_dropout", "eliminate_identity"});
  if (norm == NormMode::kFold) then({"fold_weights"});  // else they train
  then({"infer_shapes", "fuse_matmul_add"});
  if (norm == NormMode::kFold) then({"spread_gemm_bias"});
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

// The first node that already quantizes; null if there is none.
const Node* own_quantizer(const Graph& graph) {
  for (const auto& node : graph.nodes())
    if (node->op() == "QuantizeLinear" || node->op() == "DequantizeLinear" || is_quantizer(node.get()))
      return node.get();
  return nullptr;
}

// A model that is already quantized keeps its quantizers and their state; the platform adds none.
QuantizedModel prepare_quantized(const Graph& graph, const QuantConfig& config, const PrepareOptions& options) {
  QUENCH_CHECK(!options.plan, "the model is already quantized (", own_quantizer(graph)->where(),
               "): a plan cannot be applied on top of its quantizers");
  const bool is_planned = holds_plan(graph), is_ours = is_planned && !quantizers_of(graph).empty();
  Graph result(graph);
  run_passes(result, {"infer_shapes", "fold_constants", "eliminate_dropout", "eliminate_identity", "qdq_to_fake_quant",
                      "eliminate_dead", "infer_shapes"});
  if (is_ours) return quantized_model_of(std::move(result));
  QuantPlan plan;
  plan.platform = platform_name(config.platform);
  if (is_planned) {  // a file that we deployed
    plan = plan_in(result);
    drop_plan_text(result);
    restore_schemes(result, plan);
  }
  plan = plan_of_quantizers(result, std::move(plan));
  QuantizedModel model(std::move(result), std::move(plan), ModelStage::kCalibrated);
  verify(model, ModelStage::kCalibrated);
  return model;
}

}  // namespace

void fuse_for_quantizing(Graph& graph, const QuantConfig& config, NormMode norm) {
  check_not_converted(graph, "there is nothing to plan");
  if (const Node* node = own_quantizer(graph))
    fail("the model is already quantized (", node->where(), "): there is nothing to plan; prepare() takes it as is");
  with_context([] { return "while fusing"; }, [&] { run_passes(graph, fusing_passes(config, norm)); });
}

QuantizedModel insert_quantizers(const Graph& graph, const QuantPlan& plan) {
  // A plan made by hand may name no platform.
  const bool named = !plan.platform.empty();
  QuantizedModel model(graph, plan);
  insert_plan(model.graph, plan, named ? find_platform(plan.platform).weighted : standard_weighted());
  verify(model, ModelStage::kPrepared);
  return model;
}

QuantizedModel prepare(const Graph& graph, const QuantConfig& config, const PrepareOptions& options) {
  if (own_quantizer(graph)) return prepare_quantized(graph, config, options);
  Graph fused(graph);
  fuse_for_quantizing(fused, config, options.norm);
  if (options.plan) check_plan(fused, *options.plan);
  QuantizedModel model = insert_quantizers(fused, options.plan ? *options.plan : make_plan(fused, config));
  if (options.norm != NormMode::kFold) make_norms_live(model, config);
  return model;
}

void make_norms_live(QuantizedModel& model, const QuantConfig& config) {
  if (joins_norms(config)) run_passes(model.graph, {"make_norms_live", "infer_shapes"});
}

QuantizedModel prepare_by_platform(const Graph& graph, const std::string& platform, QuantConfig config,
                                   const PrepareOptions& options) {
  config.platform = platform;
  return prepare(graph, config, options);
}

}  // namespace quench

// onnx_qnn: ONNX for TVM, QLinearConv and the like. docs/platforms.md 1, 3 and 5.5.
#include "quench/error.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// ONNX has no quantized fully connected operator: a linear layer counts only while its BatchNormalization is there.
bool is_plain_linear(const PlanBuilder& plan, const Layer& layer) {
  if (layer.op() == "Conv" || !plan.has_weight(layer)) return false;
  for (const Node* node : layer.nodes)
    if (node->op() == "BatchNormalization") return false;
  return true;
}

void annotate(PlanBuilder& plan) {
  QUENCH_CHECK(plan.config().additional_ops.empty() && plan.config().additional_nodes.empty(),
               "the operators that 'onnx_qnn' writes are fixed: it takes no additional operators or nodes");
  const FamilyRule rule = {.ops = {"Conv", "Gemm", "AveragePool", "GlobalAveragePool", "Add"},
                           .merges = {},
                           .skips = is_plain_linear,
                           .passed = {"Relu", "Clip"}};
  annotate_inputs(plan, rule);
  annotate_outputs(plan, rule);
  for (const Layer& layer : plan.layers())
    if (is_plain_linear(plan, layer)) plan.leave_float(*layer.head().input(1), "ONNX has no quantized linear layer");
}

std::string refuses(const PlanEntry& entry, const Node*) { return beyond(entry, {.channel_weights = false}); }

Platform onnx_qnn() {
  Platform platform;
  platform.aliases = {"tvm"};
  platform.weight.set_scheme(QScheme::parse("uint8 affine tensor"));
  platform.activation.set_scheme(QScheme::parse("uint8 affine tensor"));
  correct_by_default(platform);
  platform.groups = standard_groups();
  platform.weighted = {"Conv", "Gemm", "MatMul"};
  platform.requantize = "half_up";
  platform.product = "onnx_qnn";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("onnx_qnn", onnx_qnn,
                         "ONNX with QLinear operators for TVM; uint8 affine per tensor, linear layers in float")

}  // namespace quench

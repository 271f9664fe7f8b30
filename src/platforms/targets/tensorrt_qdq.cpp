// tensorrt_qdq: TensorRT 10 and 11 with explicit quantization: Q/DQ in front of the layers, zero points 0, float
// biases. A residual Add is fused with the Conv in front of it, whose output therefore stays as it is.
#include "ops/clamp.h"
#include "platforms/plan/code_flow.h"
#include "quench/error.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

const CodeOperators& operators() {
  static const CodeOperators ops = {{"Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool"},
                                    {"MatMul"},
                                    {"Add", "Concat"},
                                    {"Relu", "Clip"}};
  return ops;
}

// The operand that comes straight from a Conv which only this Add reads: that Conv absorbs the Add.
const Value* fused_operand(const PlanBuilder& plan, const Layer& add) {
  for (const Value* value : plan.activations_of(add)) {
    const Layer* producer = plan.producer_of(*value);
    const bool is_conv = producer && (producer->op() == "Conv" || producer->op() == "ConvTranspose");
    const bool is_plain = is_conv && !is_clamp(producer->last());
    if (is_plain && value->uses().size() == 1 && !value->is_graph_output()) return value;
  }
  return nullptr;
}

void annotate_concat(PlanBuilder& plan, const Layer& layer) {
  // Its output covers all its branches, and so is the one to observe.
  plan.quantize_output(layer, layer.output(), rule_for("one scale for all branches of", layer));
  for (const Value* value : plan.activations_of(layer))
    if (!plan.is_excluded(layer)) plan.share(*value, layer.output(), rule_for("one scale for all branches of", layer));
}

// Of what lies in 0..1 a symmetric scheme uses half its codes: attention times values stays float (measured:
// docs/results.md).
const Value* attention_of(const PlanBuilder& plan, const Layer& layer) {
  if (layer.op() != "MatMul" || plan.has_weight(layer) || plan.is_forced(layer)) return nullptr;
  for (const Value* value : plan.activations_of(layer))
    if (value->producer() && value->producer()->op() == "Softmax") return value;
  return nullptr;
}

void annotate_layer(PlanBuilder& plan, const Layer& layer) {
  if (const Value* attention = attention_of(plan, layer))
    return plan.leave_float(*attention, "a Softmax in front of a product: symmetric codes would waste half of theirs");
  if (layer.op() == "Concat") return annotate_concat(plan, layer);
  const Value* fused = layer.op() == "Add" ? fused_operand(plan, layer) : nullptr;
  for (const Value* value : plan.activations_of(layer)) {
    if (value == fused)
      plan.leave_float(*value, concat("the Conv before '", layer.head().name(), "' takes the Add in"));
    else
      plan.quantize_input(layer, *value, rule_for("input of", layer));
  }
}

void annotate(PlanBuilder& plan) {
  plan.quantize_weights();
  const CodeFlow flow(plan, operators());
  for (const Layer& layer : plan.layers()) {
    if (flow.computes_on_codes(layer) || layer.op() == "MaxPool" || plan.is_excluded(layer))
      annotate_layer(plan, layer);
    else if (plan.is_listed(layer, operators().joins) || flow.is_small_product(layer))
      plan.leave_float(layer.output(), flow.why_float(layer));
  }
}

std::string refuses(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.weight_bits = {4, 8},
                        .formats = {Format::kInt, Format::kE4M3Fn},
                        .affine = false,
                        .weights = Signs::kSigned,
                        .activations = Signs::kSigned,
                        .group_weights = true});
}

Platform tensorrt_qdq() {
  Platform platform;
  platform.aliases = {"trt"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric channel:0 narrow"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor"));
  observe_least_error(platform);
  platform.bias_correction = BiasCorrection::kFast;
  platform.smooth = true;
  platform.has_parity = false;
  platform.by = QuantizeBy::kDivision;
  platform.product = "qdq";
  platform.groups = groups_with_clamps({"Conv", "ConvTranspose", "Gemm", "MatMul", "Add"});
  platform.weighted = standard_weighted();
  platform.annotate = annotate;
  platform.refine = weigh_squares_for_products;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("tensorrt_qdq", tensorrt_qdq, "TensorRT 10 and 11, explicit Q/DQ; int8 symmetric")

}  // namespace quench

// tensorrt_qdq: TensorRT 10 and 11 with explicit quantization: Q/DQ in front of the layers, zero points 0, float
// biases. A residual Add is fused with the Conv in front of it, whose output therefore stays as it is.
#include "platforms/explicit_family.h"
#include "quench/error.h"

namespace quench {
namespace {

const std::set<std::string>& listed() {
  static const std::set<std::string> ops = {"Conv",        "ConvTranspose",     "Gemm",  "MatMul", "Add", "MaxPool",
                                            "AveragePool", "GlobalAveragePool", "Concat"};
  return ops;
}

// The operand that comes straight from a Conv which only this Add reads: that Conv takes the Add in.
const Value* fused_operand(const PlanBuilder& plan, const Layer& add) {
  for (const Value* value : plan.activations_of(add)) {
    const Layer* producer = plan.producer_of(*value);
    const bool is_conv = producer && (producer->op() == "Conv" || producer->op() == "ConvTranspose");
    const bool is_plain = is_conv && producer->last().op() != "Relu" && producer->last().op() != "Clip";
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

void annotate(PlanBuilder& plan) {
  plan.quantize_weights();
  for (const Layer& layer : plan.layers()) {
    if (!plan.is_listed(layer, listed())) continue;
    if (layer.op() == "Concat") {
      annotate_concat(plan, layer);
      continue;
    }
    const Value* fused = layer.op() == "Add" ? fused_operand(plan, layer) : nullptr;
    for (const Value* value : plan.activations_of(layer)) {
      if (value == fused)
        plan.leave_float(*value, concat("the Conv before '", layer.head().name(), "' takes the Add in"));
      else
        plan.quantize_input(layer, *value, rule_for("input of", layer));
    }
  }
}

std::string refuses(const PlanEntry& entry, const Node*) {
  const QScheme& scheme = entry.scheme;
  if (scheme.is_int() && !scheme.symmetric()) return "a zero point other than 0 (affine schemes)";
  if (scheme.is_int() && !scheme.is_signed()) return "unsigned codes";
  if (scheme.is_int() && scheme.bits() != 8 && !(scheme.bits() == 4 && entry.role == Role::kWeight))
    return concat(scheme.bits(), "-bit ", name_of(entry.role), "s");
  if (scheme.format() == Format::kE5M2 || scheme.format() == Format::kLog) return "the format of " + scheme.text();
  if (entry.role == Role::kActivation && !scheme.per_tensor()) return "activations with a scale per channel";
  return "";
}

Platform tensorrt_qdq() {
  Platform platform;
  platform.aliases = {"trt"};
  platform.weight.scheme = QScheme::parse("int8 symmetric channel:0 narrow").spec();
  platform.activation.scheme = QScheme::parse("int8 symmetric tensor").spec();
  platform.activation.observer = "mse";
  platform.activation.observer_options = {{"p", 1.5}};  // measured: docs/results.md
  platform.bias_correction = BiasCorrection::kFast;
  platform.has_parity = false;
  platform.by = QuantizeBy::kDivision;
  platform.product = "qdq";
  platform.groups = groups_with_clamps({"Conv", "ConvTranspose", "Gemm", "MatMul", "Add"});
  platform.weighted = standard_weighted();
  platform.annotate = annotate;
  platform.refine = keep_outputs_whole;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("tensorrt_qdq", tensorrt_qdq, "TensorRT 10 and 11, explicit Q/DQ; int8 symmetric")

}  // namespace quench


#include <algorithm>

#include "graph/border.h"
#include "quench/error.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

bool is_merged(const PlanBuilder& plan, const FamilyRule& rule, const Layer& consumer, const Value& value) {
  return std::any_of(rule.merges.begin(), rule.merges.end(),
                     [&](const OpPair& pair) { return is_merged(plan, consumer, value, pair.first, pair.second); });
}

// Of TensorRT: an Add runs inside the convolution that feeds it, if nothing lies between the two. The operand
// that this leaves unquantized: the last one that a plain layer makes for this Add alone.
const Value* residual_operand(const PlanBuilder& plan, const Layer& layer) {
  if (!plan.options().has("fuse_residual_add") || !plan.options().flag("fuse_residual_add")) return nullptr;
  if (layer.op() != "Add") return nullptr;
  const std::vector<const Value*> operands = plan.activations_of(layer);
  for (auto at = operands.rbegin(); at != operands.rend(); ++at) {
    const Layer* producer = plan.producer_of(**at);
    const bool is_plain = producer && producer->nodes.size() == 1 && plan.has_weight(*producer);
    if (is_plain && (*at)->uses().size() == 1 && !(*at)->is_graph_output()) return *at;
  }
  return nullptr;
}

void quantize_operands(PlanBuilder& plan, const FamilyRule& rule, const Layer& layer) {
  const Value* residual = residual_operand(plan, layer);
  for (const Value* value : plan.activations_of(layer)) {
    if (value == residual)
      plan.leave_float(*value, concat("'", layer.head().name(), "' is computed inside the layer that makes it"));
    else if (is_merged(plan, rule, layer, *value))
      plan.leave_float(*value, concat("a ", plan.producer_of(*value)->op(), " that feeds an ", layer.op(),
                                      ": the target fuses the two"));
    else
      plan.quantize_input(layer, *value, rule_for("input of", layer));
  }
}

}  // namespace

const std::set<std::string>& inputs_family_ops() {
  static const std::set<std::string> ops = {"Conv",        "ConvTranspose",     "Gemm",  "MaxPool",
                                            "AveragePool", "GlobalAveragePool", "PRelu", "BatchNormalization",
                                            "Resize",      "Upsample",          "Add",   "Mul"};
  return ops;
}

bool is_merged(const PlanBuilder& plan, const Layer& consumer, const Value& value, const std::string& producer_op,
               const std::string& consumer_op) {
  const Layer* producer = plan.producer_of(value);
  return consumer.op() == consumer_op && producer && producer->op() == producer_op;
}

std::string rule_for(const std::string& what, const Layer& layer) {
  return concat(what, " ", layer.op(), " '", layer.head().name(), "'");
}

void quantize_graph_inputs(PlanBuilder& plan) {
  for (const Value* input : plan.graph().inputs())
    for (const Value* value : values_of_input(*input))
      for (const Layer* consumer : plan.consumers_of(*value))
        if (!is_model_input(consumer->output())) plan.quantize_input(*consumer, *value, "graph input");
}

void annotate_inputs(PlanBuilder& plan, const FamilyRule& rule) {
  for (const Layer& layer : plan.layers()) {
    if (rule.skips && rule.skips(plan, layer)) continue;
    if (plan.has_weight(layer)) plan.quantize_weight(layer, rule_for("weight of", layer));
    if (plan.is_listed(layer, rule.ops)) quantize_operands(plan, rule, layer);
  }
}

void annotate_inputs(PlanBuilder& plan) { annotate_inputs(plan, {.ops = inputs_family_ops()}); }

}  // namespace quench

#include "platforms/inputs_family.h"

#include "quench/error.h"

namespace quench {

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

void annotate_inputs(PlanBuilder& plan) {
  plan.quantize_weights();
  for (const Layer& layer : plan.layers()) {
    // A Linear is a Gemm, or a MatMul with a constant weight.
    const bool is_linear = layer.op() == "MatMul" && plan.has_weight(layer);
    if (!is_linear && !plan.is_listed(layer, inputs_family_ops())) continue;
    for (const Value* value : plan.activations_of(layer)) {
      if (is_merged(plan, layer, *value, "Mul", "Add"))
        plan.leave_float(*value, "a Mul that feeds an Add: the target fuses the two");
      else
        plan.quantize_input(layer, *value, concat("input of ", layer.op(), " '", layer.head().name(), "'"));
    }
  }
}

}  // namespace quench

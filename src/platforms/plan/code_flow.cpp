#include "platforms/plan/code_flow.h"

#include "quench/platform_parts.h"

#include <algorithm>

#include "graph/border.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kLeastProducts = 32;  // in a sum, for codes to pay

bool normalizes(const std::string& op) {
  return op == "LayerNormalization" || op == "RMSNormalization" || op == "GroupNormalization" || op == "Softmax";
}

}  // namespace

CodeFlow::CodeFlow(const PlanBuilder& plan, const CodeOperators& operators) : plan_(plan), operators_(operators) {
  std::vector<const Layer*> joining;
  for (const Layer& layer : plan.layers()) {
    if (plan.is_excluded(layer) || passes_codes(plan, layer)) continue;
    const bool joins = plan.is_listed(layer, operators.joins) && !plan.is_forced(layer);
    if (!joins && (!plan.is_listed(layer, operators.products) || is_small_product(layer))) continue;
    on_codes_.insert(&layer);
    if (joins) joining.push_back(&layer);
  }
  // One that falls back to float may take its neighbours along.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Layer* layer : joining)
      if (on_codes_.contains(layer) && (float_operand(*layer) || !is_read_in_codes(layer->output())))
        changed = on_codes_.erase(layer) > 0;
  }
}

bool CodeFlow::gives_codes(const Layer& layer) const {
  if (on_codes_.contains(&layer)) return !operators_.to_float.contains(layer.op());
  return passes(layer) && !float_operand(layer) && !plan_.activations_of(layer).empty();
}

bool CodeFlow::is_small_product(const Layer& layer) const {
  if (layer.op() != "MatMul" || plan_.has_weight(layer) || plan_.is_forced(layer)) return false;
  const Value* a = layer.head().input(0);
  return a && a->has_rank() && a->rank() > 0 && a->dims().back().is_number() &&
         a->dims().back().number() < kLeastProducts;
}

std::string CodeFlow::why_float(const Layer& layer) const {
  if (is_small_product(layer))
    return concat("'", layer.head().name(), "' sums ", layer.head().input(0)->dims().back().number(),
                  " products: codes would cost more than they save");
  if (const std::string function = plan_.part_of(layer.head()); !function.empty()) return function;
  if (const Value* operand = float_operand(layer))
    return concat("'", layer.head().name(), "' joins '", operand->name(), "', which is float");
  return concat("'", layer.head().name(), "' is read by norms and float sums alone");
}

// An input of the model is quantized where it is read.
bool CodeFlow::comes_in_codes(const Value& value) const {
  const Layer* producer = plan_.producer_of(value);
  return !producer || gives_codes(*producer);
}

bool CodeFlow::is_read_in_codes(const Value& value) const {
  if (is_model_output(value)) return true;
  const std::vector<const Layer*> consumers = plan_.consumers_of(value);
  return std::any_of(consumers.begin(), consumers.end(), [&](const Layer* consumer) {
    if (normalizes(consumer->op())) return false;
    if (passes(*consumer)) return is_read_in_codes(consumer->output());
    return on_codes_.contains(consumer) || !plan_.is_listed(*consumer, operators_.joins);
  });
}

bool CodeFlow::passes(const Layer& layer) const {
  return passes_codes(plan_, layer) || operators_.functions.contains(layer.op());
}

const Value* CodeFlow::float_operand(const Layer& layer) const {
  for (const Value* value : plan_.activations_of(layer))
    if (!comes_in_codes(*value)) return value;
  return nullptr;
}

}  // namespace quench


#include <algorithm>

#include "graph/border.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// Of what moves codes, what shares the scale of its input in these plans (docs/platforms.md 3, "explicit").
const std::set<std::string>& moved_in_codes() {
  static const std::set<std::string> ops = {"MaxPool",   "Reshape", "Flatten", "Transpose", "Squeeze",
                                            "Unsqueeze", "Slice",   "Split",   "Pad",       "Resize"};
  return ops;
}

}  // namespace

std::vector<OpChain> groups_with_clamps(const std::vector<std::string>& heads) {
  std::vector<OpChain> groups = standard_groups();
  for (const std::string& head : heads) {
    groups.push_back({head, "Relu"});
    groups.push_back({head, "Clip"});
    groups.push_back({head, "BatchNormalization", "Clip"});
  }
  groups.push_back({"MatMul", "Add", "Clip"});
  return groups;
}

bool passes_codes(const PlanBuilder& plan, const Layer& layer) {
  if (layer.nodes.size() != 1 || !moved_in_codes().contains(layer.op()) || plan.is_excluded(layer)) return false;
  if (!moves_codes(layer.head())) return false;
  return layer.head().input(0) && plan.is_activation(*layer.head().input(0));
}

void share_passed_codes(PlanBuilder& plan) {
  const std::vector<Layer>& layers = plan.layers();
  // Backwards first: a chain of reshapes in front of a listed layer is quantized where it begins.
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (!passes_codes(plan, *layer)) continue;
    for (const Value* output : layer->head().outputs())
      if (output && plan.find(*output))
        plan.quantize_input(*layer, *layer->head().input(0), rule_for("input of", *layer));
  }
  for (const Layer& layer : layers) {
    if (!passes_codes(plan, layer) || !plan.find(*layer.head().input(0))) continue;
    for (const Value* output : layer.head().outputs())
      if (output && !output->uses().empty() && !leaves_only(*output))
        plan.share(*output, *layer.head().input(0), rule_for("codes pass through", layer));
  }
}

void weigh_squares_for_products(PlanBuilder& plan) {
  if (plan.config().activation.observer) return;
  for (PlanEntry* entry : plan.entries()) {
    if (entry->role != Role::kActivation || entry->observer != "mse" || plan.has_user_rule(*entry)) continue;
    const std::vector<const Layer*> readers = plan.consumers_of(plan.graph().value(entry->value));
    if (std::any_of(readers.begin(), readers.end(), [](const Layer* layer) { return layer->op() == "MatMul"; }))
      entry->observer_options = {{"p", 2.0}};
  }
}

}  // namespace quench

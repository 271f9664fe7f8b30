#include "platforms/families/explicit_family.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/border.h"
#include "quench/error.h"

namespace quench {
namespace {

// Without a value, or with 0; the mode "constant" only: what the others repeat is in range anyway.
bool pads_with_zeros(const Node& pad) {
  if (pad.get_string("mode", "constant") != "constant") return true;
  const Value* fill = pad.input(2);
  return !fill || (fill->is_constant() && fill->tensor().eq(0).all().item<bool>());
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
  static const std::set<std::string> ops = {"MaxPool",   "Reshape", "Flatten", "Transpose", "Squeeze",
                                            "Unsqueeze", "Slice",   "Split",   "Pad",       "Resize"};
  if (layer.nodes.size() != 1 || !ops.contains(layer.op()) || plan.is_excluded(layer)) return false;
  if (layer.op() == "Pad" && !pads_with_zeros(layer.head())) return false;
  if (layer.op() == "Resize" && layer.head().get_string("mode", "nearest") != "nearest") return false;
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

std::string rule_for(const char* what, const Layer& layer) {
  return concat(what, " ", layer.op(), " '", layer.head().name(), "'");
}

}  // namespace quench

// Outputs of layers: the second half of snpe, ppl, stpu, tengine and onnx_qnn. docs/platforms.md 3, "inputs + outputs".
#include <algorithm>

#include "ops/clamp.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// As rules name it: a Clip is only "Clip" where it is a ReLU6.
bool is_passed(const FamilyRule& rule, const Layer& layer) {
  const Node& node = layer.head();
  if (layer.nodes.size() != 1 || !rule.passed.contains(node.op())) return false;
  return node.op() != "Clip" || is_relu6(node);
}

void quantize_output(PlanBuilder& plan, const FamilyRule& rule, const Layer& layer) {
  const Value& value = layer.output();
  bool own = value.is_graph_output();
  for (const Layer* consumer : plan.consumers_of(value)) {
    if (is_passed(rule, *consumer)) {
      plan.quantize_output(layer, consumer->output(),
                           rule_for("output of", layer) + " behind '" + consumer->head().name() + "'");
      continue;
    }
    const bool merged = std::any_of(rule.merges.begin(), rule.merges.end(), [&](const OpPair& pair) {
      return is_merged(plan, *consumer, value, pair.first, pair.second);
    });
    own = own || !merged;
  }
  if (own) plan.quantize_output(layer, value, rule_for("output of", layer));
}

}  // namespace

void annotate_outputs(PlanBuilder& plan, const FamilyRule& rule) {
  for (const Layer& layer : plan.layers())
    if (plan.is_listed(layer, rule.ops) && !(rule.skips && rule.skips(plan, layer))) quantize_output(plan, rule, layer);
}

void annotate_inputs_and_outputs(PlanBuilder& plan) {
  const FamilyRule rule = {.ops = inputs_family_ops(), .passed = {"Relu", "Clip", "Flatten"}};
  annotate_inputs(plan, rule);
  annotate_outputs(plan, rule);
}

}  // namespace quench

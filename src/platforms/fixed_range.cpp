#include "platforms/fixed_range.h"

namespace quench {

const std::set<std::string>& fixed_range_ops() {
  static const std::set<std::string> ops = {"Sigmoid", "HardSigmoid", "Softmax", "Tanh"};
  return ops;
}

void use_fixed_ranges(PlanBuilder& plan) {
  const QScheme uint8 = QScheme::parse("uint8 affine tensor");
  for (const Layer& layer : plan.layers()) {
    if (!fixed_range_ops().contains(layer.last().op())) continue;
    PlanEntry* entry = plan.find(layer.output());
    if (!entry || entry->scheme != uint8) continue;
    const bool is_tanh = layer.last().op() == "Tanh";
    entry->observer = "fixed_qparams";
    entry->observer_options = {{"scale", is_tanh ? 2.0 / 256 : 1.0 / 256}, {"zero_point", is_tanh ? 128.0 : 0.0}};
    entry->rule += ": its range is known";
  }
}

}  // namespace quench

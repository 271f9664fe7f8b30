#include "platforms/plan/fixed_range.h"

#include "platforms/plan/settings.h"

namespace quench {
namespace {

// One scale, and codes from 0 on with a zero point: 256 of them, or the 128 of reduce_range (fbgemm, x86).
bool is_plain(const QScheme& scheme) {
  return scheme.is_int() && scheme.per_tensor() && !scheme.is_signed() && !scheme.symmetric();
}

}  // namespace

const std::set<std::string>& fixed_range_ops() {
  static const std::set<std::string> ops = {"Sigmoid", "HardSigmoid", "Softmax", "Tanh"};
  return ops;
}

void use_fixed_ranges(PlanBuilder& plan) {
  const Platform& platform = find_platform(plan.config().platform);
  const QuantSettings usual = defaults_of(platform, Role::kActivation, plan.parity());
  for (const Layer& layer : plan.layers()) {
    if (!fixed_range_ops().contains(layer.last().op())) continue;
    PlanEntry* entry = plan.find(layer.output());
    if (!entry || !is_plain(entry->scheme) || usual.observer != entry->observer) continue;  // or the user's wish
    if (plan.asked_of(*entry).observer) continue;
    const double levels = 1.0 + entry->scheme.qmax();
    const bool is_tanh = layer.last().op() == "Tanh";
    entry->observer = "fixed_qparams";
    entry->observer_options = {{"scale", (is_tanh ? 2.0 : 1.0) / levels}, {"zero_point", is_tanh ? levels / 2 : 0.0}};
    entry->rule += ": its range is known";
  }
}

}  // namespace quench

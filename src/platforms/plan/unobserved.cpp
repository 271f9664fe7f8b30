#include "platforms/plan/unobserved.h"

#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// "" if it keeps its quantizer.
std::string why_left(PlanBuilder& plan, const PlanRequest& request) {
  if (leaves_float(request.entry.observer))
    return concat("the observer '", request.entry.observer, "' leaves it float");
  if (request.entry.role != Role::kBias) return "";
  const Node& layer = request.layer->head();
  const PlanEntry* weight = plan.find(*layer.input(entry_of(layer).traits.weight_slot));
  return weight && !leaves_float(weight->observer) ? "" : concat("the weight of '", layer.name(), "' stays float");
}

}  // namespace

bool leaves_float(const std::string& observer) {
  const ObserverEntry* known = ObserverRegistry::instance().find(observer);
  return known && !known->finds_scale;
}

void leave_unobserved(PlanBuilder& plan, PlanState& state) {
  std::map<const Value*, std::string> left;
  for (const auto& [value, request] : state.requests)
    if (std::string reason = why_left(plan, request); !reason.empty()) left[value] = std::move(reason);
  for (auto& [value, reason] : left) {
    state.requests.erase(value);
    state.reasons[value] = std::move(reason);
  }
}

}  // namespace quench

#include "report/plan_json.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "core/counted.h"
#include "quench/error.h"

namespace quench {
namespace {

Json json_of(const Options& options) {
  Json object = Json::object();
  for (const auto& [name, value] : options.values()) {
    const auto* number = std::get_if<double>(&value);
    object[name] = number ? Json(*number) : Json(std::get<std::string>(value));
  }
  return object;
}

std::string scheme_text(const PlanEntry& entry) {
  return entry.derived_from.empty() ? entry.scheme.text() : "int32 at the product of two scales";
}

Json json_of(const PlanEntry& entry) {
  Json object = {{"value", entry.value}, {"role", name_of(entry.role)}};
  object["scheme"] = entry.derived_from.empty() ? entry.scheme.text() : "int32";
  if (entry.derived_from.empty()) {
    object["observer"] = entry.observer;
    object["observer_options"] = json_of(entry.observer_options);
    object["fake_quant"] = entry.fake_quant;
    object["fake_quant_options"] = json_of(entry.fake_quant_options);
  } else {
    object["derived_from"] = entry.derived_from;
  }
  if (!entry.shared_with.empty()) object["shared_with"] = entry.shared_with;
  object["rule"] = entry.rule;
  return object;
}

}  // namespace

Json json_of(const QuantPlan& plan) {
  Json quantized = Json::array(), skipped = Json::array();
  for (const PlanEntry& entry : plan.entries) quantized.push_back(json_of(entry));
  for (const PlanSkip& skip : plan.skipped) skipped.push_back({{"value", skip.value}, {"reason", skip.reason}});
  return {{"platform", plan.platform},
          {"parity", plan.parity},
          {"quantize", name_of(plan.by)},
          {"quantized", quantized},
          {"float", skipped}};
}

std::string plan_summary(const QuantPlan& plan) {
  std::map<std::string, int> kinds;
  int sharing = 0;
  for (const PlanEntry& entry : plan.entries) {
    ++kinds[concat(name_of(entry.role), ": ", scheme_text(entry))];
    sharing += entry.shared_with.empty() ? 0 : 1;
  }
  std::string text = concat("platform    ", plan.platform, plan.parity ? " (parity)" : "", "\n");
  for (const auto& [kind, count] : kinds) text += concat("  ", count, " x ", kind, "\n");
  if (sharing > 0)
    text +=
        concat("  ", sharing, sharing == 1 ? " of these takes" : " of these take", " the scale of another tensor\n");
  // What is inside a fused layer never is a tensor of its own: no news.
  const std::int64_t left =
      std::count_if(plan.skipped.begin(), plan.skipped.end(), [](const PlanSkip& skip) { return !skip.is_inside(); });
  if (left == 0) return text + "  no tensor stays float\n";
  return text + concat("  ", counted(left, "tensor stays float", "tensors stay float"), "\n");
}

}  // namespace quench

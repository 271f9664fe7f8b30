#include "quench/plan.h"

#include <algorithm>

#include "core/joined.h"
#include "observers/scaleless.h"
#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

std::string text_of(const Options& options) {
  if (options.values().empty()) return "";
  const auto text = [](const auto& option) {
    return concat(option.first, ": ", std::visit([](const auto& value) { return concat(value); }, option.second));
  };
  return " {" + joined(options.values(), ", ", text) + "}";
}

std::string scheme_of(const PlanEntry& entry) { return entry.derived_from.empty() ? entry.scheme.text() : "int32"; }

// What an edge is, in one line; equal lines mean equal quantizers.
std::string line_of(const PlanEntry& entry) {
  std::string text = concat(name_of(entry.role), ", ", scheme_of(entry));
  if (!entry.derived_from.empty())
    return concat(text, " at scale('", entry.derived_from[0], "') * scale('", entry.derived_from[1], "')");
  text += concat(", observer ", entry.observer, text_of(entry.observer_options), ", ", entry.fake_quant,
                 text_of(entry.fake_quant_options));
  return entry.shared_with.empty() ? text : concat(text, ", shares the scale of '", entry.shared_with, "'");
}

const PlanEntry* same_edge(const QuantPlan& plan, const PlanEntry& entry) {
  for (const PlanEntry& other : plan.entries)
    if (other.value == entry.value && other.derived_from == entry.derived_from) return &other;
  return nullptr;
}

}  // namespace

const PlanEntry* QuantPlan::find(const std::string& value) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const PlanEntry& e) { return e.value == value; });
  return at == entries.end() ? nullptr : &*at;
}

std::unique_ptr<Observer> make_observer(const QuantizerSpec& spec) {
  std::unique_ptr<Observer> observer = make_observer(spec.observer, spec.scheme, spec.observer_options);
  if (const auto* scaleless = dynamic_cast<const ScalelessObserver*>(observer.get()))
    fail("observer '", spec.observer, "' finds no scale: ", scaleless->remedy());
  return observer;
}

FakeQuantSpec fake_quant_spec(const PlanEntry& entry, QuantizeBy by) {
  return {entry.fake_quant, entry.scheme, entry.role, by, entry.fake_quant_options};
}

int QuantPlan::count(Role role) const {
  return static_cast<int>(
      std::count_if(entries.begin(), entries.end(), [&](const PlanEntry& entry) { return entry.role == role; }));
}

std::vector<std::string> diff_plans(const QuantPlan& before, const QuantPlan& after) {
  std::vector<std::string> lines;
  if (before.platform != after.platform)
    lines.push_back(concat("~ platform: ", before.platform, " -> ", after.platform));
  if (before.by != after.by) lines.push_back(concat("~ quantize: ", name_of(before.by), " -> ", name_of(after.by)));
  for (const PlanEntry& entry : before.entries) {
    const PlanEntry* now = same_edge(after, entry);
    if (!now)
      lines.push_back(concat("- ", entry.value, ": ", line_of(entry)));
    else if (line_of(*now) != line_of(entry))
      lines.push_back(concat("~ ", entry.value, ": ", line_of(entry), " -> ", line_of(*now)));
  }
  for (const PlanEntry& entry : after.entries)
    if (!same_edge(before, entry)) lines.push_back(concat("+ ", entry.value, ": ", line_of(entry)));
  return lines;
}

namespace {

// What is quantized of the fused layer that a tensor is inside of: rules name the layer, as the reason does.
std::string explain_inside(const QuantPlan& plan, const PlanSkip& skip) {
  const std::string layer = skip.reason.substr(skip.reason.find('\''));
  std::string of_it;
  for (const PlanEntry& entry : plan.entries)
    if (entry.rule.find(layer) != std::string::npos)
      of_it += concat(of_it.empty() ? ": " : ", ", "'", entry.value, "' (", name_of(entry.role), ", ",
                      entry.derived_from.empty() ? entry.scheme.text() : "int32", ")");
  return concat("'", skip.value, "' is computed inside the fused layer ", layer, " and is not a tensor of its own",
                of_it.empty() ? "" : "; what is quantized of that layer" + of_it);
}

}  // namespace

std::string explain(const QuantPlan& plan, const std::string& value) {
  std::vector<std::string> known;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.value == value) return concat("'", value, "' is quantized: ", line_of(entry), "; rule: ", entry.rule);
    known.push_back(entry.value);
  }
  for (const PlanSkip& skip : plan.skipped) {
    if (skip.value == value && skip.is_inside()) return explain_inside(plan, skip);
    if (skip.value == value) return concat("'", value, "' stays float: ", skip.reason);
    known.push_back(skip.value);
  }
  const std::string nearest = nearest_name(value, known);
  fail("the plan for '", plan.platform, "' has no tensor '", value, "'",
       nearest.empty() ? "; 'quench plan' lists those it has" : concat("; did you mean '", nearest, "'?"));
}

}  // namespace quench

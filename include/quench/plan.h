// QuantPlan: every quantizer that a graph is to get, and why; every tensor that stays float, and why. A platform
// makes it (make_plan), a user may read and edit it (YAML), insert_quantizers carries it out. It holds names only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/fake_quant.h"
#include "quench/options.h"
#include "quench/quant.h"

namespace quench {

// Instead of an observer: the quantizer came with its scale and keeps it.
inline constexpr const char* kNoObserver = "none";

// All that is chosen about one quantizer: what QuantSettings (quench/quant_config.h) say in parts.
struct QuantizerSpec {
  QScheme scheme;
  std::string observer = "min_max";
  Options observer_options;
  std::string fake_quant = "fixed";
  Options fake_quant_options;
};

struct PlanEntry : QuantizerSpec {
  std::string value;  // the tensor that is quantized: an activation, or the constant that is the weight
  Role role = Role::kActivation;
  std::string shared_with;                // takes the scale of this value; is not observed itself
  std::vector<std::string> derived_from;  // a bias in int32: its scale is the product of those of these two values
  std::string rule;                       // which rule of the platform or the user put it there
};

struct PlanSkip {
  std::string value;  // a float tensor that no quantizer touches
  std::string reason;

  // Between two nodes that the target computes as one: there are many of these, and nothing to be done about them.
  static constexpr const char* kInside = "inside the fused layer";
  bool is_inside() const { return reason.starts_with(kInside); }
};

struct QuantPlan {
  std::string platform;
  bool parity = false;                      // as the reference implementation does it
  QuantizeBy by = QuantizeBy::kReciprocal;  // how the target divides
  std::vector<PlanEntry> entries;           // in order of the graph
  std::vector<PlanSkip> skipped;

  const PlanEntry* find(const std::string& value) const;  // null if there is none
  int count(Role role) const;                             // entries with a scale of their own or a shared one
};

// What an entry asks for. Where name, scheme and options do not fit each other, making it throws.
std::unique_ptr<Observer> make_observer(const QuantizerSpec& spec);
FakeQuantSpec fake_quant_spec(const PlanEntry& entry, QuantizeBy by);

// The text form (docs/formats.md). Errors of the reader carry "in the plan NAME" and the line.
std::string to_yaml(const QuantPlan& plan);
QuantPlan plan_from_yaml(const std::string& text, const std::string& name = "");

// One line per edge that differs: "+ value: scheme", "- value", "~ value: what it was -> what it is".
std::vector<std::string> diff_plans(const QuantPlan& before, const QuantPlan& after);
// The sentence that `quench inspect --why` prints; throws for a tensor that the plan does not know (with the nearest).
std::string explain(const QuantPlan& plan, const std::string& value);

}  // namespace quench

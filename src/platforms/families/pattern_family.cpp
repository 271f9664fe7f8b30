
#include <algorithm>

#include "ops/clamp.h"
#include "platforms/plan/match.h"
#include "platforms/plan/non_negative.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

constexpr const char* kBefore = "no_quantizer_before";
constexpr const char* kAfter = "no_quantizer_after";

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream text(list);
  for (std::string word; std::getline(text >> std::ws, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

// A quantizer that the patterns ask for.
struct Wish {
  const Layer* layer = nullptr;
  const Value* shares = nullptr;  // whose scale it takes
  std::string rule;
  std::string dropped;    // why it is redundant
  bool inherits = false;  // dropped, and its input's range is its own
};

class Patterns {
 public:
  Patterns(PlanBuilder& plan, const PatternRules& rules) : plan_(plan), rules_(rules) {}

  void collect() {
    for (const Layer& layer : plan_.layers()) {
      const bool is_linear = layer.op() == "MatMul" && plan_.has_weight(layer);
      // Add and Mul with a constant have a range of their own. The reference lets them share the quantizer of the one
      // operand, which then observes both (docs/platforms.md 6); ours observes one tensor, and the other would be cut.
      const bool binary = (layer.op() == "Add" || layer.op() == "Mul") && rules_.own.contains(layer.op());
      const bool own = is_linear || binary || plan_.is_listed(layer, rules_.own);
      const std::vector<const Value*> inputs = plan_.activations_of(layer);
      if (inputs.empty() || (!own && !plan_.is_listed(layer, rules_.shares))) continue;
      if (plan_.has_weight(layer)) plan_.quantize_weight(layer, named("weight", layer));
      if (plan_.is_excluded(layer)) {
        plan_.quantize_output(layer, layer.output(), "");  // notes the reason
        continue;
      }
      for (const Value* input : inputs) wish(*input, {&layer, nullptr, named("input", layer), "", false});
      for (const Value* input : inputs) ++readers_[input];
      wish(layer.output(), {&layer, own ? nullptr : inputs[0], named("output", layer), "", false});
    }
  }

  void drop_redundant() {
    const std::vector<std::string> before = split(plan_.options().word(kBefore));
    const std::vector<std::string> after = split(plan_.options().word(kAfter));
    std::set<std::string> unused(before.begin(), before.end());
    unused.insert(after.begin(), after.end());
    for (const Layer& layer : plan_.layers()) {
      const bool relu6 = is_relu6(layer.head()) && (rules_.drops_redundant || (!plan_.parity() && shares(layer)));
      const bool pool = layer.op() == "MaxPool" && rules_.drops_redundant;
      if (relu6 || is_in(layer, before, unused)) drop_before(layer);
      if (pool || is_in(layer, after, unused)) drop_after(layer);
    }
    // A recipe may name operators that this network does not have.
    std::erase_if(unused, [](const std::string& word) { return OpRegistry::instance().find(word) != nullptr; });
    QUENCH_CHECK(unused.empty(), kBefore, " and ", kAfter, " name operators or layers: there is no '", *unused.begin(),
                 "'");
    if (rules_.drops_redundant)
      for (const Value* output : plan_.graph().outputs()) drop_backwards(*output);
  }

  void ask() {
    for (const Value* value : order_) {
      const Wish& wish = wishes_.at(value);
      const Value* leader = wish.shares ? leader_of(wish.shares) : nullptr;
      if (!wish.dropped.empty() && (plan_.parity() || !wish.inherits))
        plan_.leave_float(*value, wish.dropped);
      else if (leader)
        plan_.share(*value, *leader, wish.inherits ? wish.dropped : wish.rule + ": the scale of its input");
      else
        plan_.quantize_input(*wish.layer, *value, wish.rule);
    }
  }

 private:
  static std::string named(const char* what, const Layer& layer) {
    return concat(what, " of ", layer.op(), " '", layer.head().name(), "'");
  }

  bool shares(const Layer& layer) const { return rules_.shares.contains(layer.op()); }

  static bool is_in(const Layer& layer, const std::vector<std::string>& list, std::set<std::string>& unused) {
    bool found = false;
    for (const std::string& word : list) {
      if (layer.op() != word && !is_named(layer.head(), word)) continue;
      unused.erase(word);
      found = true;
    }
    return found;
  }

  void wish(const Value& value, const Wish& wish) {
    if (plan_.is_activation(value) && wishes_.try_emplace(&value, wish).second) order_.push_back(&value);
  }

  // mmrazor drops a quantizer for all its readers; a runtime still needs it where another layer reads codes.
  void drop(const Value& value, int readers, const std::string& reason) {
    const auto at = wishes_.find(&value);
    if (at == wishes_.end() || (!plan_.parity() && readers_[&value] > readers)) return;
    at->second.dropped = reason;
  }

  void drop_before(const Layer& layer) {
    const std::vector<const Value*> inputs = plan_.activations_of(layer);
    if (inputs.empty()) return;
    drop(*inputs[0], shares(layer) ? 1 : 0, concat("redundant before ", layer.op(), " '", layer.head().name(), "'"));
  }

  void drop_after(const Layer& layer) {
    const auto at = wishes_.find(&layer.output());
    const std::vector<const Value*> inputs = plan_.activations_of(layer);
    if (at == wishes_.end() || inputs.empty()) return;
    at->second.dropped = concat("redundant behind ", layer.op(), " '", layer.head().name(), "'");
    if (!shares(layer) && entry_of(layer.last()).traits.range != RangeRule::kPasses) return;  // a range of its own
    at->second.dropped += ", which keeps the range";
    at->second.inherits = true;
    at->second.shares = inputs[0];
  }

  void drop_backwards(const Value& value) {
    if (wishes_.contains(&value))
      drop(value, 0, "redundant before the graph's output");
    else if (const Layer* layer = plan_.producer_of(value))
      for (const Value* input : plan_.activations_of(*layer)) drop_backwards(*input);
  }

  // The value whose quantizer `value` gets, itself or what it inherits from; null if there is none.
  const Value* leader_of(const Value* value) const {
    const auto at = wishes_.find(value);
    if (at == wishes_.end()) return nullptr;
    if (at->second.dropped.empty()) return value;
    return at->second.inherits ? leader_of(at->second.shares) : nullptr;
  }

  PlanBuilder& plan_;
  const PatternRules& rules_;
  std::map<const Value*, Wish> wishes_;
  std::vector<const Value*> order_;
  std::map<const Value*, int> readers_;  // matched layers that read it
};

}  // namespace

void annotate_patterns(PlanBuilder& plan, const PatternRules& rules) {
  Patterns patterns(plan, rules);
  patterns.collect();
  patterns.drop_redundant();
  patterns.ask();
}

const std::set<std::string>& sharing_ops() {
  static const std::set<std::string> ops = {
      "AveragePool", "GlobalAveragePool", "MaxPool", "GlobalMaxPool", "Relu",    "Clip",      "Identity", "Flatten",
      "ReduceMean",  "Reshape",           "Resize",  "Upsample",      "Squeeze", "Unsqueeze", "Tile",     "Transpose"};
  return ops;
}

Platform pattern_platform(const std::string& activation, const std::string& weight) {
  Platform platform;
  platform.weight.set_scheme(QScheme::parse(weight));
  platform.weight.fake_quant = "fixed";
  platform.activation.set_scheme(QScheme::parse(activation));
  observe_least_error(platform, observed_by("ema_min_max", {{"averaging_constant", 0.1}}));
  platform.activation.fake_quant = "fixed";
  platform.groups = standard_groups();
  platform.groups.push_back({"Add", "Relu"});
  platform.weighted = standard_weighted();
  platform.options = {{kBefore, "", "operators or layers, with commas: what they read keeps no quantizer"},
                      {kAfter, "", "operators or layers, with commas: what they write keeps no quantizer"}};
  platform.refine = mend_unsigned;
  return platform;
}

void mend_unsigned(PlanBuilder& plan) {
  const std::set<const Value*> positive = non_negative_values(plan.graph());
  for (PlanEntry* entry : plan.entries()) {
    const QScheme& scheme = entry->scheme;
    if (entry->role != Role::kActivation || !scheme.is_int() || scheme.is_signed() || !scheme.symmetric()) continue;
    if (positive.contains(plan.graph().find_value(entry->value))) continue;
    QSchemeSpec affine = scheme.spec();
    affine.symmetric = false;
    entry->scheme = QScheme(affine);
    entry->rule += ": affine, as it may be below zero";
  }
}

std::string refuses_all_but_quint8(const PlanEntry& entry, const Node*) {
  return beyond(entry, {.weight_bits = up_to_bits(8),
                        .activation_bits = up_to_bits(8),
                        .weights = Signs::kSigned,
                        .activations = Signs::kUnsigned,
                        .group_weights = true});
}

}  // namespace quench

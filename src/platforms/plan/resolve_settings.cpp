// The user's settings and rules over the platform's defaults: what each requested quantizer is.
#include <algorithm>
#include <set>

#include "core/joined.h"
#include "platforms/plan/match.h"
#include "platforms/plan/plan_state.h"
#include "platforms/plan/settings.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/registry.h"

namespace quench {
namespace {

using UsedParts = std::vector<std::set<const QuantSettings*>>;  // of each rule, what changed something

const QuantSettings& settings_for(const QuantConfig& config, Role role) {
  if (role == Role::kBias) return config.bias;
  return role == Role::kWeight ? config.weight : config.activation;
}

std::string missing_settings(const QuantSettings& settings, const char* role) {
  std::string missing;
  const auto need = [&](bool given, const char* what) {
    if (!given) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  need(settings.bits.has_value(), "bits");
  need(settings.observer.has_value(), "observer");
  need(settings.fake_quant.has_value(), "fake_quant");
  return missing.empty() ? "" : concat(missing, " of the ", role);
}

// Both at once, so that nobody mends one only to hear of the other.
void check_user_schemes(const std::string& platform, const QuantConfig& config) {
  const std::string weight = missing_settings(config.weight, "weight");
  const std::string activation = missing_settings(config.activation, "activation");
  const bool lacks_only_bits = concat(weight, activation).find(",") == std::string::npos &&
                               concat(weight, activation).find("bits") != std::string::npos;
  QUENCH_CHECK(weight.empty() && activation.empty(), "platform '", platform, "' has no defaults: ", weight,
               weight.empty() || activation.empty() ? "" : "; ", activation, " must be given, as in the setting ",
               "'defaults.", weight.empty() ? "activation" : "weight",
               lacks_only_bits ? "={bits: 8}'" : "={bits: 8, observer: min_max, fake_quant: fixed}'");
}

// Observers do not change what the target computes; all else would (NNIE).
bool changes_scheme(QuantSettings settings) {
  settings.observer.reset();
  settings.observer_options = {};
  return !settings.empty();
}

void check_fixed_schemes(const std::string& platform, const QuantConfig& config) {
  const auto check = [&](const QuantSettings& settings, const std::string& where) {
    QUENCH_CHECK(!changes_scheme(settings), "platform '", platform,
                 "' keeps its schemes and fake quantizers: only the observer may be changed, but the settings of ",
                 where, " say more");
  };
  check(config.weight, "the weights");
  check(config.activation, "the activations");
  check(config.bias, "the biases");
  for (const LayerRule& rule : config.layers)
    for (const QuantSettings* settings : {&rule.weight, &rule.activation, &rule.output})
      check(*settings, "the rule " + rule.text());
}

// Which axis a scheme per channel or group runs along, where the user did not say.
int axis_for(const Layer& layer, Role role, Granularity granularity) {
  if (granularity == Granularity::kTensor || role == Role::kBias) return 0;
  const OpTraits& traits = entry_of(layer.head()).traits;
  if (role == Role::kActivation) return traits.channel_axis;
  const int axis = traits.weight_axis ? traits.weight_axis(layer.head()) : 0;
  if (granularity != Granularity::kGroup) return axis;
  return axis == 0 ? 1 : 0;  // groups run along what is summed: the other axis of the matrix
}

void resolve_entry(const PlanBuilder& plan, const PlanState& state, PlanRequest& request, UsedParts& used) {
  PlanEntry& entry = request.entry;
  QuantSettings chosen = defaults_of(state.platform, entry.role, state.config.parity);
  merge(settings_for(state.config, entry.role), chosen);
  for (std::size_t i = 0; i < state.config.layers.size(); ++i) {
    const LayerRule& rule = state.config.layers[i];
    const auto wish = [&](const Layer& layer, const QuantSettings& settings) {
      if (settings.empty() || !matches(layer, rule)) return;
      merge(settings, chosen);
      merge(settings, request.asked);
      used[i].insert(&settings);
      request.ruled = true;
      entry.rule += " [" + rule.text() + "]";
    };
    if (entry.role == Role::kWeight) wish(*request.layer, rule.weight);
    if (entry.role != Role::kActivation) continue;
    for (const Layer* reader : plan.consumers_of(*request.value)) wish(*reader, rule.activation);
    if (const Layer* writer = plan.producer_of(*request.value)) wish(*writer, rule.output);
  }
  if (!chosen.axis) chosen.axis = axis_for(*request.layer, entry.role, chosen.granularity.value());
  QuantizerSpec& quantizer = entry;
  with_context([&] { return concat("for the ", name_of(entry.role), " '", entry.value, "'"); },
               [&] { quantizer = resolved(chosen); });
}

// The nearest name of a layer; for another operator, those that the layers have.
std::string or_did_you_mean(const PlanState& state, const LayerRule& rule) {
  std::vector<std::string> names;
  std::set<std::string> operators;
  for (const Layer& layer : state.layers) {
    operators.insert(layer.op());
    for (const Node* node : layer.nodes) names.push_back(node->name());
  }
  std::string plain = rule.match.substr(rule.match.starts_with("=") ? 1 : 0);
  plain.resize(std::min(plain.size(), plain.find_first_of("*?")));
  const std::string nearest = plain.empty() ? "" : nearest_name(plain, names);
  if (!nearest.empty()) return concat("; did you mean '", nearest, "'?");
  return rule.op.empty() ? "; 'quench inspect' lists the names" : concat("; there are layers of ", joined(operators));
}

void check_rules_used(const PlanState& state, const UsedParts& used) {
  for (std::size_t i = 0; i < state.config.layers.size(); ++i) {
    const LayerRule& rule = state.config.layers[i];
    const auto at = std::find_if(state.layers.begin(), state.layers.end(),
                                 [&](const Layer& layer) { return matches(layer, rule); });
    QUENCH_CHECK(at != state.layers.end(), "the rule ", rule.text(), " matches no layer", or_did_you_mean(state, rule));
    const auto check = [&](const QuantSettings& part, const char* what) {
      QUENCH_CHECK(part.empty() || used[i].contains(&part), "the rule ", rule.text(), " changes no ", what,
                   ": platform '", state.platform_name, "' puts no such quantizer on '", at->head().name(), "'");
    };
    if (rule.keep_float) continue;
    QUENCH_CHECK(!rule.weight.empty() || !rule.activation.empty() || !rule.output.empty(), "the rule ", rule.text(),
                 " says nothing: give it weight, activation, output or float");
    check(rule.weight, "weight");
    check(rule.activation, "activation");
    check(rule.output, "output");
  }
}

}  // namespace

void resolve_settings(const PlanBuilder& plan, PlanState& state) {
  if (state.platform.user_schemes) check_user_schemes(state.platform_name, state.config);
  if (state.platform.fixed_schemes) check_fixed_schemes(state.platform_name, state.config);
  UsedParts used(state.config.layers.size());
  for (auto& [value, request] : state.requests) resolve_entry(plan, state, request, used);
  check_rules_used(state, used);
}

}  // namespace quench

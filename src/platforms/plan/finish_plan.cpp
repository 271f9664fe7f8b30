// The second half of a plan: shared scales, the user's settings, the platform's last word, biases, checks.
#include <algorithm>

#include "platforms/plan/bodies.h"
#include "platforms/plan/match.h"
#include "platforms/plan/settings.h"
#include "platforms/plan/whole_outputs.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform.h"

namespace quench {
namespace {

const QuantSettings& settings_for(const QuantConfig& config, Role role) {
  if (role == Role::kBias) return config.bias;
  return role == Role::kWeight ? config.weight : config.activation;
}

void check_user_schemes(const std::string& platform, const QuantSettings& settings, const char* role) {
  QUENCH_CHECK(settings.bits && settings.observer && settings.fake_quant, "platform '", platform,
               "' has no defaults: bits, observer and fake_quant of the ", role, " must be given");
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
                 where, " change more");
  };
  check(config.weight, "the weights");
  check(config.activation, "the activations");
  check(config.bias, "the biases");
  for (const LayerRule& rule : config.layers)
    for (const QuantSettings* settings : {&rule.weight, &rule.activation, &rule.output})
      check(*settings, "the rule " + rule.text());
}

// Which axis a scheme per channel or group runs along, where the user did not say.
void choose_axis(const Layer& layer, Role role, QSchemeSpec& scheme) {
  if (scheme.granularity == Granularity::kTensor) {
    scheme.axis = 0;
    return;
  }
  const OpTraits& traits = entry_of(layer.head()).traits;
  if (role == Role::kBias) scheme.axis = 0;
  if (role == Role::kWeight) {
    scheme.axis = traits.weight_axis ? traits.weight_axis(layer.head()) : 0;
    // Groups run along what is summed: the other axis of the matrix.
    if (scheme.granularity == Granularity::kGroup) scheme.axis = scheme.axis == 0 ? 1 : 0;
  }
  if (role == Role::kActivation) scheme.axis = traits.channel_axis;
}

// One number per channel, added as it is.
bool is_plain_bias(const Node& node, const Value& bias) {
  if (!bias.has_rank() || bias.rank() != 1) return false;
  if (node.op() != "Gemm") return true;
  const Value& weight = *node.input(1);
  const bool scaled = node.get_float("alpha", 1.0) != 1.0 || node.get_float("beta", 1.0) != 1.0;
  const auto channels = static_cast<std::size_t>(entry_of(node).traits.weight_axis(node));
  return !scaled && weight.has_rank() && weight.dims()[channels].certainly_equal(bias.dims()[0]);
}

}  // namespace

void PlanBuilder::resolve_shares() {
  const auto leader_of = [&](const PlanEntry& entry) -> const PlanEntry* {
    const PlanEntry* leader = &entry;
    for (std::size_t steps = 0; !leader->shared_with.empty(); ++steps) {
      QUENCH_CHECK(steps <= requests_.size(), "the values that share a scale with '", entry.value, "' form a cycle");
      leader = find(graph_.value(leader->shared_with));
      if (!leader) return nullptr;
    }
    return leader;
  };
  std::vector<const Value*> lost;
  std::map<PlanEntry*, std::string> leaders;
  for (auto& [value, request] : requests_) {
    if (request.entry.shared_with.empty()) continue;
    if (const PlanEntry* leader = leader_of(request.entry))
      leaders[&request.entry] = leader->value;
    else
      lost.push_back(value);
  }
  for (const auto& [entry, leader] : leaders) entry->shared_with = leader;
  for (const Value* value : lost) {
    leave_float(*value,
                concat("'", requests_[value].entry.shared_with, "', whose scale it would share, is not quantized"));
    requests_.erase(value);
  }
}

void PlanBuilder::resolve_entry(Request& request, UsedParts& used) {
  PlanEntry& entry = request.entry;
  QuantizerDefaults chosen = defaults_of(platform_, entry.role, config_.parity);
  bool axis_given = settings_for(config_, entry.role).axis.has_value();
  const auto lay = [&](const QuantSettings& settings) {
    axis_given = axis_given || settings.axis.has_value();
    apply(settings, chosen);
  };
  lay(settings_for(config_, entry.role));
  for (std::size_t i = 0; i < config_.layers.size(); ++i) {
    const LayerRule& rule = config_.layers[i];
    const auto wish = [&](const Layer& layer, const QuantSettings& settings) {
      if (settings.empty() || !matches(layer, rule)) return;
      lay(settings);
      merge(settings, request.asked);
      used[i].insert(&settings);
      request.ruled = true;
      entry.rule += " [" + rule.text() + "]";
    };
    if (entry.role == Role::kWeight) wish(*request.layer, rule.weight);
    if (entry.role != Role::kActivation) continue;
    for (const Layer* reader : consumers_of(*request.value)) wish(*reader, rule.activation);
    if (const Layer* writer = producer_of(*request.value)) wish(*writer, rule.output);
  }
  if (!axis_given) choose_axis(*request.layer, entry.role, chosen.scheme);
  with_context([&] { return concat("for the ", name_of(entry.role), " '", entry.value, "'"); },
               [&] { entry.scheme = QScheme(chosen.scheme); });
  entry.observer = chosen.observer;
  entry.observer_options = chosen.observer_options;
  entry.fake_quant = chosen.fake_quant;
  entry.fake_quant_options = chosen.fake_quant_options;
}

void PlanBuilder::resolve_settings() {
  if (platform_.user_schemes) {
    check_user_schemes(platform_name_, config_.weight, "weight");
    check_user_schemes(platform_name_, config_.activation, "activation");
  }
  if (platform_.fixed_schemes) check_fixed_schemes(platform_name_, config_);
  UsedParts used(config_.layers.size());
  for (auto& [value, request] : requests_) resolve_entry(request, used);
  check_rules_used(used);
}

void PlanBuilder::check_rules_used(const UsedParts& used) const {
  for (std::size_t i = 0; i < config_.layers.size(); ++i) {
    const LayerRule& rule = config_.layers[i];
    const auto at =
        std::find_if(layers_.begin(), layers_.end(), [&](const Layer& layer) { return matches(layer, rule); });
    QUENCH_CHECK(at != layers_.end(), "the rule ", rule.text(), " matches no layer");
    const auto check = [&](const QuantSettings& part, const char* what) {
      QUENCH_CHECK(part.empty() || used[i].contains(&part), "the rule ", rule.text(), " changes no ", what,
                   ": platform '", platform_name_, "' puts no such quantizer on '", at->head().name(), "'");
    };
    if (rule.keep_float) continue;
    QUENCH_CHECK(!rule.weight.empty() || !rule.activation.empty() || !rule.output.empty(), "the rule ", rule.text(),
                 " says nothing: give it weight, activation, output or float");
    check(rule.weight, "weight");
    check(rule.activation, "activation");
    check(rule.output, "output");
  }
}

// One constant has one quantizer, so all layers that read it as their weight must agree.
void PlanBuilder::check_shared_weights() const {
  for (const auto& [value, request] : requests_) {
    if (request.entry.role != Role::kWeight) continue;
    for (const Value::Use& use : value->uses()) {
      const Layer& layer = layer_of(*use.node);
      const OpTraits& traits = entry_of(*use.node).traits;
      if (&layer == request.layer || use.slot != traits.weight_slot) continue;
      QUENCH_CHECK(!is_excluded(layer), "'", layer.head().name(), "' is to stay float, but shares its weight '",
                   value->name(), "' with '", request.layer->head().name(), "', which is quantized");
      const QScheme& scheme = request.entry.scheme;
      QUENCH_CHECK(scheme.per_tensor() || !traits.weight_axis || traits.weight_axis(*use.node) == scheme.axis(), "'",
                   layer.head().name(), "' and '", request.layer->head().name(), "' share the weight '", value->name(),
                   "' along different axes: quantize it per tensor");
    }
  }
}

// The bias of a layer whose input and weight are both quantized.
void PlanBuilder::add_biases() {
  for (const Layer& layer : layers_) {
    const int slot = entry_of(layer.head()).traits.bias_slot;
    const Value* bias = slot < 0 ? nullptr : layer.head().input(slot);
    if (!bias || !is_constant(*bias) || !has_weight(layer)) continue;
    if (!is_plain_bias(layer.head(), *bias)) {
      leave_float(*bias, concat("'", layer.head().name(), "' does more with it than add it to each channel"));
      continue;
    }
    const Value* weight = layer.head().input(entry_of(layer.head()).traits.weight_slot);
    const PlanEntry* x = find(*layer.head().input(0));
    const PlanEntry* w = find(*weight);
    if (platform_.bias && w)
      request(layer, *bias, Role::kBias, concat("bias of ", layer.op(), " '", layer.head().name(), "'"));
    if (!platform_.int32_bias || !x || !w) continue;
    PlanEntry entry;
    entry.value = bias->name();
    entry.role = Role::kBias;
    entry.derived_from = {x->value, w->value};
    entry.rule = concat("int32 bias of ", layer.op(), " '", layer.head().name(), "'");
    derived_.emplace_back(&layer.head(), entry);
  }
}

void PlanBuilder::validate() {
  std::vector<const Value*> refused;
  for (const PlanEntry* named : entries()) {  // in order of name, so that the same entry is refused every time
    const PlanEntry& entry = *named;
    const Value* value = &graph_.value(entry.value);
    const Node& node = requests_.at(value).layer->head();
    with_context(
        [&] { return concat("for the ", name_of(entry.role), " '", entry.value, "' of ", node.where()); },
        [&] {
          make_observer(entry.observer, entry.scheme, entry.observer_options);
          make_fake_quant({entry.fake_quant, entry.scheme, entry.role, platform_.by, entry.fake_quant_options});
        });
    std::string cannot = platform_.refuses ? platform_.refuses(entry, &node) : "";
    const std::string unmet = unmet_wish(requests_.at(value).asked, entry);
    if (cannot.empty() && !unmet.empty()) cannot = concat(unmet, ", as a rule asks (", entry.rule, ")");
    if (cannot.empty()) continue;
    QUENCH_CHECK(config_.float_fallback, "platform '", platform_name_, "' cannot run ", cannot, ": ",
                 name_of(entry.role), " '", entry.value, "' of ", node.where(),
                 "; choose another scheme, keep that layer in float, or set float_fallback");
    leave_float(*value, concat("the target cannot run ", cannot, " (float_fallback)"));
    refused.push_back(value);
  }
  for (const Value* value : refused) requests_.erase(value);
  if (!refused.empty()) resolve_shares();
}

std::vector<PlanSkip> PlanBuilder::skipped() const {
  std::vector<PlanSkip> list;
  const auto add = [&](const Value& value) {
    if (requests_.contains(&value) || !is_activation(value)) return;
    const auto at = reasons_.find(&value);
    const Layer* producer = producer_of(value);
    std::string reason = concat("no rule of '", platform_name_, "' quantizes it");
    if (producer && value.producer() != &producer->last())
      reason = concat("inside the fused layer '", producer->head().name(), "'");
    list.push_back({value.name(), at == reasons_.end() ? reason : at->second});
  };
  for (const Value* input : graph_.inputs()) add(*input);
  for (const auto& [value, reason] : reasons_)
    if (is_constant(*value) && !requests_.contains(value)) list.push_back({value->name(), reason});
  for (const Layer& layer : layers_)
    for (const Node* node : layer.nodes)
      for (const Value* output : node->outputs())
        if (output) add(*output);
  return list;
}

// What shares a scale has its leader's quantizer in all.
void PlanBuilder::follow_leaders() {
  for (auto& [value, request] : requests_) {
    PlanEntry& entry = request.entry;
    if (entry.shared_with.empty()) continue;
    const PlanEntry leader = *find(graph_.value(entry.shared_with));
    const bool same =
        leader.scheme == entry.scheme && leader.observer == entry.observer && leader.fake_quant == entry.fake_quant;
    QUENCH_CHECK(same || !request.ruled, "a rule for '", entry.value, "' cannot apply: it has the scale of '",
                 leader.value, "' (", entry.rule, "); apply the rule to the layer that makes '", leader.value,
                 "' (output:)");
    const std::string name = entry.value, rule = entry.rule;
    entry = leader;
    entry.value = name;
    entry.rule = rule;
    entry.shared_with = leader.value;
  }
}

QuantPlan PlanBuilder::finish() {
  resolve_shares();
  if (platform_.bias) add_biases();
  resolve_settings();
  if (platform_.refine) platform_.refine(*this);
  if (platform_.whole_outputs && !config_.parity) keep_outputs_whole(*this);
  validate();
  check_shared_weights();
  if (!platform_.bias) add_biases();
  QuantPlan plan;
  plan.platform = platform_name_;
  plan.parity = config_.parity;
  plan.by = platform_.by;
  follow_leaders();
  // In order of the graph: what a node reads, then what it writes.
  std::set<const Value*> done;
  const auto take = [&](const Value* value) {
    const auto at = requests_.find(value);
    if (at != requests_.end() && done.insert(value).second) plan.entries.push_back(at->second.entry);
  };
  for (const auto& node : graph_.nodes()) {
    for (const Value* input : node->inputs())
      if (input) take(input);
    for (const auto& [layer, bias] : derived_)
      if (layer == node.get()) plan.entries.push_back(bias);
    for (const Value* output : node->outputs()) take(output);
  }
  plan.skipped = skipped();
  return plan;
}

QuantPlan make_plan(const Graph& graph, const QuantConfig& config) {
  PlanBuilder builder(graph, config.platform, config);
  with_context([&] { return concat("while planning for platform '", platform_name(config.platform), "'"); },
               [&] { find_platform(config.platform).annotate(builder); });
  QuantPlan plan = builder.finish();
  for (PlanSkip& skip : layers_in_bodies(graph)) plan.skipped.push_back(std::move(skip));
  return plan;
}

}  // namespace quench

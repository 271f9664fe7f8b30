// The second half of a plan: shared scales, the user's settings, the platform's last word, biases, checks.
#include <algorithm>

#include "platforms/plan/bodies.h"
#include "platforms/plan/plan_state.h"
#include "platforms/plan/reuse_input.h"
#include "platforms/plan/settings.h"
#include "platforms/plan/unobserved.h"
#include "platforms/plan/whole_outputs.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// One number a channel, added as it is.
bool is_plain_bias(const Node& node, const Value& bias) {
  if (!bias.has_rank() || bias.rank() != 1) return false;
  if (node.op() != "Gemm") return true;
  const Value& weight = *node.input(1);
  const bool scaled = node.get_float("alpha", 1.0) != 1.0 || node.get_float("beta", 1.0) != 1.0;
  const auto channels = static_cast<std::size_t>(entry_of(node).traits.weight_axis(node));
  return !scaled && weight.has_rank() && weight.dims()[channels].certainly_equal(bias.dims()[0]);
}

// The steps share the builder and what it holds.
class Finish {
 public:
  Finish(PlanBuilder& plan, PlanState& state) : plan_(plan), state_(state) {}
  QuantPlan run();

 private:
  void resolve_shares();
  void add_biases();
  void leave_left_weights();
  void validate();
  void check_shared_weights() const;
  void follow_leaders();
  bool is_inside(const Value& value) const;
  std::string why_float(const Value& value) const;
  std::vector<PlanSkip> skipped() const;

  PlanBuilder& plan_;
  PlanState& state_;
};

void Finish::resolve_shares() {
  const auto leader_of = [&](const PlanEntry& entry) -> const PlanEntry* {
    const PlanEntry* leader = &entry;
    for (std::size_t steps = 0; !leader->shared_with.empty(); ++steps) {
      QUENCH_CHECK(steps <= state_.requests.size(), "the values that share a scale with '", entry.value,
                   "' run in a circle");
      leader = plan_.find(state_.graph.value(leader->shared_with));
      if (!leader) return nullptr;
    }
    return leader;
  };
  std::vector<const Value*> lost;
  std::map<PlanEntry*, std::string> leaders;
  for (auto& [value, request] : state_.requests) {
    if (request.entry.shared_with.empty()) continue;
    if (const PlanEntry* leader = leader_of(request.entry))
      leaders[&request.entry] = leader->value;
    else
      lost.push_back(value);
  }
  for (const auto& [entry, leader] : leaders) entry->shared_with = leader;
  for (const Value* value : lost) {
    plan_.leave_float(*value, concat("'", state_.requests[value].entry.shared_with,
                                     "', whose scale it would share, is not quantized"));
    state_.requests.erase(value);
  }
}

// One constant has one quantizer, so that all layers that read it as their weight must want the same.
void Finish::check_shared_weights() const {
  for (const auto& [value, request] : state_.requests) {
    if (request.entry.role != Role::kWeight) continue;
    for (const Value::Use& use : value->uses()) {
      const Layer& layer = plan_.layer_of(*use.node);
      const OpTraits& traits = entry_of(*use.node).traits;
      if (&layer == request.layer || use.slot != traits.weight_slot) continue;
      QUENCH_CHECK(!plan_.is_excluded(layer), "'", layer.head().name(), "' is to stay float, but shares its weight '",
                   value->name(), "' with '", request.layer->head().name(), "', which is quantized");
      const QScheme& scheme = request.entry.scheme;
      QUENCH_CHECK(scheme.per_tensor() || !traits.weight_axis || traits.weight_axis(*use.node) == scheme.axis(), "'",
                   layer.head().name(), "' and '", request.layer->head().name(), "' share the weight '", value->name(),
                   "' along different axes: quantize it per tensor");
    }
  }
}

// The bias of a layer whose input and weight are both quantized.
void Finish::add_biases() {
  for (const Layer& layer : state_.layers) {
    const int slot = entry_of(layer.head()).traits.bias_slot;
    const Value* bias = slot < 0 ? nullptr : layer.head().input(slot);
    if (!bias || !plan_.is_constant(*bias) || !plan_.has_weight(layer)) continue;
    if (!is_plain_bias(layer.head(), *bias)) {
      plan_.leave_float(*bias, concat("'", layer.head().name(), "' does more with it than add it to each channel"));
      continue;
    }
    const Value* weight = layer.head().input(entry_of(layer.head()).traits.weight_slot);
    const PlanEntry* x = plan_.find(*layer.head().input(0));
    const PlanEntry* w = plan_.find(*weight);
    if (state_.platform.bias && w)
      state_.request(layer, *bias, Role::kBias, concat("bias of ", layer.op(), " '", layer.head().name(), "'"));
    if (!state_.platform.int32_bias || !x || !w) continue;
    PlanEntry entry;
    entry.value = bias->name();
    entry.role = Role::kBias;
    entry.derived_from = {x->value, w->value};
    entry.rule = concat("int32 bias of ", layer.op(), " '", layer.head().name(), "'");
    state_.derived.emplace_back(&layer.head(), entry);
  }
}

// No target has a layer with its weight in front.
void Finish::leave_left_weights() {
  const std::vector<std::string>& weighted = state_.platform.weighted;
  if (std::find(weighted.begin(), weighted.end(), "MatMul") == weighted.end()) return;
  for (const Layer& layer : state_.layers) {
    if (layer.op() != "MatMul" || plan_.has_weight(layer)) continue;
    const Value& left = *layer.head().input(0);
    if (plan_.is_constant(left) && is_floating(left.dtype()))
      plan_.leave_float(left, concat("a weight on the left of the MatMul '", layer.head().name(),
                                     "': only weights on the right are quantized"));
  }
}

void Finish::validate() {
  std::vector<const Value*> refused;
  for (const PlanEntry* named : plan_.entries()) {  // in order of name, so that the same entry is refused every time
    const PlanEntry& entry = *named;
    const Value* value = &state_.graph.value(entry.value);
    const Node& node = state_.requests.at(value).layer->head();
    with_context([&] { return concat("for the ", name_of(entry.role), " '", entry.value, "' of ", node.where()); },
                 [&] {
                   make_observer(entry);
                   make_fake_quant(fake_quant_spec(entry, state_.platform.by));
                 });
    std::string cannot = state_.platform.refuses ? state_.platform.refuses(entry, &node) : "";
    const std::string unmet = unmet_wish(state_.requests.at(value).asked, entry);
    if (cannot.empty() && !unmet.empty()) cannot = concat(unmet, ", as a rule asks (", entry.rule, ")");
    if (cannot.empty()) continue;
    QUENCH_CHECK(state_.config.float_fallback, "platform '", state_.platform_name, "' cannot run ", cannot, ": ",
                 name_of(entry.role), " '", entry.value, "' of ", node.where(),
                 "; choose another scheme, keep that layer in float, or set float_fallback");
    plan_.leave_float(*value, concat("the target cannot run ", cannot, " (float_fallback)"));
    refused.push_back(value);
  }
  for (const Value* value : refused) state_.requests.erase(value);
  if (!refused.empty()) resolve_shares();
}

// What the platform or the user said about it, or where it lies.
std::string Finish::why_float(const Value& value) const {
  if (const auto at = state_.reasons.find(&value); at != state_.reasons.end()) return at->second;
  if (is_inside(value)) return concat(PlanSkip::kInside, " '", plan_.producer_of(value)->head().name(), "'");
  const std::string function = value.producer() ? plan_.part_of(*value.producer()) : "";
  return function.empty() ? concat("no rule of '", state_.platform_name, "' quantizes it") : function;
}

// Between two nodes of one layer.
bool Finish::is_inside(const Value& value) const {
  const Layer* producer = plan_.producer_of(value);
  return producer && value.producer() != &producer->last();
}

// Those inside of layers come last: they are many, and nobody asks for them.
std::vector<PlanSkip> Finish::skipped() const {
  std::vector<PlanSkip> list, inside;
  const auto add = [&](const Value& value) {
    if (state_.requests.contains(&value) || !plan_.is_activation(value)) return;
    const bool is_reasoned = state_.reasons.contains(&value);
    (is_inside(value) && !is_reasoned ? inside : list).push_back({value.name(), why_float(value)});
  };
  for (const Value* input : state_.graph.inputs()) add(*input);
  for (const auto& [value, reason] : state_.reasons)
    if (plan_.is_constant(*value) && !state_.requests.contains(value)) list.push_back({value->name(), reason});
  for (const Layer& layer : state_.layers)
    for (const Node* node : layer.nodes)
      for (const Value* output : node->outputs())
        if (output) add(*output);
  list.insert(list.end(), inside.begin(), inside.end());
  return list;
}

// What shares a scale has its leader's quantizer in all.
void Finish::follow_leaders() {
  for (auto& [value, request] : state_.requests) {
    PlanEntry& entry = request.entry;
    if (entry.shared_with.empty()) continue;
    const PlanEntry& leader = *plan_.find(state_.graph.value(entry.shared_with));
    const bool same =
        leader.scheme == entry.scheme && leader.observer == entry.observer && leader.fake_quant == entry.fake_quant;
    QUENCH_CHECK(same || !request.ruled, "a rule for '", entry.value, "' cannot apply: it has the scale of '",
                 leader.value, "' (", entry.rule, "); apply the rule to the layer that makes '", leader.value,
                 "' (output:)");
    QuantizerSpec& quantizer = entry;
    quantizer = leader;
  }
}

QuantPlan Finish::run() {
  resolve_shares();
  if (state_.platform.bias) add_biases();
  resolve_settings(plan_, state_);
  leave_unobserved(plan_, state_);
  reuse_inputs(plan_, state_);
  resolve_shares();  // what shared the scale of one of those
  if (state_.platform.refine) state_.platform.refine(plan_);
  if (state_.platform.whole_outputs && !state_.config.parity) keep_outputs_whole(plan_);
  leave_left_weights();
  validate();
  check_shared_weights();
  if (!state_.platform.bias) add_biases();
  QuantPlan plan;
  plan.platform = state_.platform_name;
  plan.parity = state_.config.parity;
  plan.by = state_.platform.by;
  follow_leaders();
  // In order of the graph: what a node reads, then what it writes.
  std::set<const Value*> done;
  const auto take = [&](const Value* value) {
    const auto at = state_.requests.find(value);
    if (at != state_.requests.end() && done.insert(value).second) plan.entries.push_back(at->second.entry);
  };
  for (const auto& node : state_.graph.nodes()) {
    for (const Value* input : node->inputs())
      if (input) take(input);
    for (const auto& [layer, bias] : state_.derived)
      if (layer == node.get()) plan.entries.push_back(bias);
    for (const Value* output : node->outputs()) take(output);
  }
  plan.skipped = skipped();
  return plan;
}

}  // namespace

QuantPlan PlanBuilder::finish() { return Finish(*this, *state_).run(); }

QuantPlan make_plan(const Graph& graph, const QuantConfig& config) {
  PlanBuilder builder(graph, config.platform, config);
  with_context([&] { return concat("while planning for platform '", platform_name(config.platform), "'"); },
               [&] { find_platform(config.platform).annotate(builder); });
  QuantPlan plan = builder.finish();
  for (PlanSkip& skip : layers_in_bodies(graph)) plan.skipped.push_back(std::move(skip));
  return plan;
}

}  // namespace quench
